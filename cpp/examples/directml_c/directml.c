// SPDX-License-Identifier: BSD-3-Clause
//
// A program that has DirectML's descriptions gets its results on the CPU. The members and the numbers are those of the
// examples on DirectML's reference pages; each output is printed and compared with the one on the page.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <reblock/c.h>

// A packed tensor of 4-byte elements, as those of all examples are.
struct tensor {
  UINT sizes[4];
  DML_BUFFER_TENSOR_DESC buffer;
  DML_TENSOR_DESC desc;
};

static const DML_TENSOR_DESC* describe(struct tensor* tensor, DML_TENSOR_DATA_TYPE type, UINT count) {
  tensor->buffer =
      (DML_BUFFER_TENSOR_DESC){.DataType = type, .DimensionCount = count, .Sizes = tensor->sizes};
  if (reblock_buffer_tensor_size(&tensor->buffer, &tensor->buffer.TotalTensorSizeInBytes) !=
      REBLOCK_SUCCESS) {
    fprintf(stderr, "%s\n", reblock_last_error());
    exit(1);
  }
  tensor->desc = (DML_TENSOR_DESC){DML_TENSOR_TYPE_BUFFER, &tensor->buffer};
  return &tensor->desc;
}

// The values are small integers: floats on the pages of FOLD and UNFOLD, UINT32 on the others.
union element {
  float number;
  uint32_t integer;
};

static union element element_of(bool is_float, uint32_t value) {
  union element element;
  if (is_float) {
    element.number = (float)value;
  } else {
    element.integer = value;
  }
  return element;
}

// What a program does with any description. `input` and `page` hold the values of the input and of the page's output.
// Returns whether the operator's output is the page's.
static bool show(const char* title, DML_OPERATOR_TYPE type, const void* desc, bool is_float,
                 const uint32_t* input, const uint32_t* page) {
  const DML_OPERATOR_DESC operator_desc = {type, desc};
  reblock_operator* op = NULL;
  if (reblock_operator_create(&operator_desc, DML_FEATURE_LEVEL_6_4, &op) != REBLOCK_SUCCESS) {
    printf("%s: %s\n", title, reblock_last_error());
    return false;
  }
  const size_t input_size = (size_t)reblock_operator_input_size(op);
  const size_t output_size = (size_t)reblock_operator_output_size(op);
  const size_t count = output_size / sizeof(union element);
  union element* from = malloc(input_size);
  union element* to = malloc(output_size);
  if (from == NULL || to == NULL) exit(1);
  for (size_t i = 0; i < input_size / sizeof(union element); ++i) from[i] = element_of(is_float, input[i]);

  const reblock_status status = reblock_operator_dispatch(op, from, input_size, to, output_size, 0);

  bool right = status == REBLOCK_SUCCESS;
  for (size_t i = 0; i < count && right; ++i) right = to[i].integer == element_of(is_float, page[i]).integer;
  printf("%s: %s\n", title,
         right                       ? "as on the page"
         : status == REBLOCK_SUCCESS ? "WRONG"
                                     : reblock_last_error());
  for (size_t i = 0; i < count; ++i) printf("%4g", is_float ? (double)to[i].number : (double)to[i].integer);
  printf("\n");
  free(from);
  free(to);
  reblock_operator_destroy(op);
  return right;
}

static void count_up(uint32_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) values[i] = i;
}

// The second channel of an output, which is larger by `step` everywhere.
static void add_channel(uint32_t* values, uint32_t count, uint32_t step) {
  for (uint32_t i = 0; i < count; ++i) values[count + i] = values[i] + step;
}

static bool depth_and_space(void) {
  struct tensor depth_tensor = {.sizes = {1, 8, 2, 3}};
  struct tensor space_tensor = {.sizes = {1, 2, 4, 6}};
  const DML_TENSOR_DESC* depth = describe(&depth_tensor, DML_TENSOR_DATA_TYPE_UINT32, 4);
  const DML_TENSOR_DESC* space = describe(&space_tensor, DML_TENSOR_DATA_TYPE_UINT32, 4);
  uint32_t planes[48];
  for (uint32_t i = 0; i < 48; ++i) planes[i] = i / 6 * 9 + i % 6;
  uint32_t dcr[48] = {0, 18, 1, 19, 2, 20, 36, 54, 37, 55, 38, 56,
                      3, 21, 4, 22, 5, 23, 39, 57, 40, 58, 41, 59};
  uint32_t crd[48] = {0, 9,  1, 10, 2, 11, 18, 27, 19, 28, 20, 29,
                      3, 12, 4, 13, 5, 14, 21, 30, 22, 31, 23, 32};
  add_channel(dcr, 24, 9);
  add_channel(crd, 24, 36);

  const DML_DEPTH_TO_SPACE_OPERATOR_DESC unpack = {depth, space, 2};
  const DML_SPACE_TO_DEPTH_OPERATOR_DESC pack = {space, depth, 2};
  const DML_DEPTH_TO_SPACE1_OPERATOR_DESC unpack_dcr = {depth, space, 2,
                                                        DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW};
  const DML_SPACE_TO_DEPTH1_OPERATOR_DESC pack_dcr = {space, depth, 2,
                                                      DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW};
  const DML_DEPTH_TO_SPACE1_OPERATOR_DESC unpack_crd = {depth, space, 2,
                                                        DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH};
  const DML_SPACE_TO_DEPTH1_OPERATOR_DESC pack_crd = {space, depth, 2,
                                                      DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH};
  bool right = show("DEPTH_TO_SPACE", DML_OPERATOR_DEPTH_TO_SPACE, &unpack, false, planes, dcr);
  right = show("SPACE_TO_DEPTH", DML_OPERATOR_SPACE_TO_DEPTH, &pack, false, dcr, planes) && right;
  right = show("DEPTH_TO_SPACE1, example 1", DML_OPERATOR_DEPTH_TO_SPACE1, &unpack_dcr, false, planes, dcr) &&
          right;
  right = show("SPACE_TO_DEPTH1, example 1", DML_OPERATOR_SPACE_TO_DEPTH1, &pack_dcr, false, dcr, planes) &&
          right;
  right = show("DEPTH_TO_SPACE1, example 2", DML_OPERATOR_DEPTH_TO_SPACE1, &unpack_crd, false, planes, crd) &&
          right;
  return show("SPACE_TO_DEPTH1, example 2", DML_OPERATOR_SPACE_TO_DEPTH1, &pack_crd, false, crd, planes) &&
         right;
}

static const UINT three[2] = {3, 3};
static const UINT ones[2] = {1, 1};
static const UINT zeros[2] = {0, 0};
static const UINT above_and_below[2] = {1, 0};

static bool unfolds(void) {
  struct tensor image_tensor = {.sizes = {1, 1, 5, 5}};
  struct tensor first_tensor = {.sizes = {1, 9, 9}};
  struct tensor second_tensor = {.sizes = {1, 9, 15}};
  const DML_TENSOR_DESC* image = describe(&image_tensor, DML_TENSOR_DATA_TYPE_FLOAT32, 4);
  const DML_TENSOR_DESC* first = describe(&first_tensor, DML_TENSOR_DATA_TYPE_FLOAT32, 3);
  const DML_TENSOR_DESC* second = describe(&second_tensor, DML_TENSOR_DATA_TYPE_FLOAT32, 3);
  uint32_t pixels[25];
  count_up(pixels, 25);
  static const uint32_t first_page[81] = {
      0,  1,  2,  5,  6,  7,  10, 11, 12,  //
      1,  2,  3,  6,  7,  8,  11, 12, 13,  //
      2,  3,  4,  7,  8,  9,  12, 13, 14,  //
      5,  6,  7,  10, 11, 12, 15, 16, 17,  //
      6,  7,  8,  11, 12, 13, 16, 17, 18,  //
      7,  8,  9,  12, 13, 14, 17, 18, 19,  //
      10, 11, 12, 15, 16, 17, 20, 21, 22,  //
      11, 12, 13, 16, 17, 18, 21, 22, 23,  //
      12, 13, 14, 17, 18, 19, 22, 23, 24,  //
  };
  static const uint32_t second_page[135] = {
      0, 0, 0, 0,  1,  2,  5,  6,  7,  10, 11, 12, 15, 16, 17,  //
      0, 0, 0, 1,  2,  3,  6,  7,  8,  11, 12, 13, 16, 17, 18,  //
      0, 0, 0, 2,  3,  4,  7,  8,  9,  12, 13, 14, 17, 18, 19,  //
      0, 1, 2, 5,  6,  7,  10, 11, 12, 15, 16, 17, 20, 21, 22,  //
      1, 2, 3, 6,  7,  8,  11, 12, 13, 16, 17, 18, 21, 22, 23,  //
      2, 3, 4, 7,  8,  9,  12, 13, 14, 17, 18, 19, 22, 23, 24,  //
      5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 0,  0,  0,   //
      6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23, 0,  0,  0,   //
      7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0,  0,  0,   //
  };
  const DML_UNFOLD_OPERATOR_DESC plain = {image, first, 2, three, ones, ones, zeros, zeros};
  const DML_UNFOLD_OPERATOR_DESC padded = {image,           second,         2, three, ones, ones,
                                           above_and_below, above_and_below};
  bool right = show("UNFOLD, example 1", DML_OPERATOR_UNFOLD, &plain, true, pixels, first_page);
  return show("UNFOLD, example 2", DML_OPERATOR_UNFOLD, &padded, true, pixels, second_page) && right;
}

static bool folds(void) {
  struct tensor columns_tensors[3] = {{.sizes = {1, 9, 4}}, {.sizes = {1, 9, 8}}, {.sizes = {1, 18, 8}}};
  struct tensor one_channel_tensor = {.sizes = {1, 1, 4, 4}};
  struct tensor two_channels_tensor = {.sizes = {1, 2, 4, 4}};
  const DML_TENSOR_DESC* one_channel = describe(&one_channel_tensor, DML_TENSOR_DATA_TYPE_FLOAT32, 4);
  const DML_TENSOR_DESC* two_channels = describe(&two_channels_tensor, DML_TENSOR_DATA_TYPE_FLOAT32, 4);
  const DML_TENSOR_DESC* columns[3];
  for (int i = 0; i < 3; ++i) columns[i] = describe(&columns_tensors[i], DML_TENSOR_DATA_TYPE_FLOAT32, 3);
  uint32_t terms[144];
  count_up(terms, 144);
  static const uint32_t first_page[16] = {0, 5, 13, 9, 14, 38, 54, 32, 38, 86, 102, 56, 26, 57, 65, 35};
  // The output of the second example is the first channel of the third's.
  static const uint32_t page[32] = {26,  70,  102, 60,  78,  183, 231, 129, 84,  195, 243,
                                    135, 82,  182, 214, 116, 170, 358, 390, 204, 294, 615,
                                    663, 345, 300, 627, 675, 351, 226, 470, 502, 260};
  const DML_FOLD_OPERATOR_DESC plain = {columns[0], one_channel, 2, three, ones, ones, zeros, zeros};
  const DML_FOLD_OPERATOR_DESC padded = {columns[1],      one_channel,    2, three, ones, ones,
                                         above_and_below, above_and_below};
  const DML_FOLD_OPERATOR_DESC both = {columns[2],      two_channels,   2, three, ones, ones,
                                       above_and_below, above_and_below};
  bool right = show("FOLD, example 1", DML_OPERATOR_FOLD, &plain, true, terms, first_page);
  right = show("FOLD, example 2", DML_OPERATOR_FOLD, &padded, true, terms, page) && right;
  return show("FOLD, example 3", DML_OPERATOR_FOLD, &both, true, terms, page) && right;
}

int main(void) {
  printf("reblock %s\n", reblock_version());
  bool right = depth_and_space();
  right = unfolds() && right;
  right = folds() && right;
  return right ? 0 : 1;
}
