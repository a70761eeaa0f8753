// SPDX-License-Identifier: BSD-3-Clause
//
// The sizes, offsets and values that DirectML.h gives its declarations where pointers have 64 bits. Compiled as C and as
// C++, and never run.
#include <assert.h>
#include <stddef.h>

#include <reblock/c.h>

static_assert(sizeof(void*) == 8, "the offsets below are those of 64-bit pointers");
static_assert(sizeof(UINT) == 4 && sizeof(UINT64) == 8, "types");
static_assert((UINT)-1 > 0 && (UINT64)-1 > 0, "without a sign");

static_assert(sizeof(DML_TENSOR_DATA_TYPE) == 4 && sizeof(DML_TENSOR_TYPE) == 4 &&
                  sizeof(DML_TENSOR_FLAGS) == 4 && sizeof(DML_OPERATOR_TYPE) == 4 &&
                  sizeof(DML_DEPTH_SPACE_ORDER) == 4 && sizeof(DML_FEATURE_LEVEL) == 4 &&
                  sizeof(reblock_status) == 4,
              "enumerations are ints");

static_assert(sizeof(DML_BUFFER_TENSOR_DESC) == 48, "size");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, DataType) == 0, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, Flags) == 4, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, DimensionCount) == 8, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, Sizes) == 16, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, Strides) == 24, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, TotalTensorSizeInBytes) == 32, "offset");
static_assert(offsetof(DML_BUFFER_TENSOR_DESC, GuaranteedBaseOffsetAlignment) == 40, "offset");

static_assert(sizeof(DML_TENSOR_DESC) == 16, "size");
static_assert(offsetof(DML_TENSOR_DESC, Type) == 0, "offset");
static_assert(offsetof(DML_TENSOR_DESC, Desc) == 8, "offset");

static_assert(sizeof(DML_OPERATOR_DESC) == 16, "size");
static_assert(offsetof(DML_OPERATOR_DESC, Type) == 0, "offset");
static_assert(offsetof(DML_OPERATOR_DESC, Desc) == 8, "offset");

#define CHECK_BLOCKS(desc)                                    \
  static_assert(sizeof(desc) == 24, "size");                  \
  static_assert(offsetof(desc, InputTensor) == 0, "offset");  \
  static_assert(offsetof(desc, OutputTensor) == 8, "offset"); \
  static_assert(offsetof(desc, BlockSize) == 16, "offset")

CHECK_BLOCKS(DML_DEPTH_TO_SPACE_OPERATOR_DESC);
CHECK_BLOCKS(DML_SPACE_TO_DEPTH_OPERATOR_DESC);
CHECK_BLOCKS(DML_DEPTH_TO_SPACE1_OPERATOR_DESC);
CHECK_BLOCKS(DML_SPACE_TO_DEPTH1_OPERATOR_DESC);
static_assert(offsetof(DML_DEPTH_TO_SPACE1_OPERATOR_DESC, Order) == 20, "offset");
static_assert(offsetof(DML_SPACE_TO_DEPTH1_OPERATOR_DESC, Order) == 20, "offset");

#define CHECK_WINDOWS(desc)                                      \
  static_assert(sizeof(desc) == 64, "size");                     \
  static_assert(offsetof(desc, InputTensor) == 0, "offset");     \
  static_assert(offsetof(desc, OutputTensor) == 8, "offset");    \
  static_assert(offsetof(desc, DimensionCount) == 16, "offset"); \
  static_assert(offsetof(desc, WindowSizes) == 24, "offset");    \
  static_assert(offsetof(desc, Strides) == 32, "offset");        \
  static_assert(offsetof(desc, Dilations) == 40, "offset");      \
  static_assert(offsetof(desc, StartPadding) == 48, "offset");   \
  static_assert(offsetof(desc, EndPadding) == 56, "offset")

CHECK_WINDOWS(DML_UNFOLD_OPERATOR_DESC);
CHECK_WINDOWS(DML_FOLD_OPERATOR_DESC);

static_assert(DML_TENSOR_DATA_TYPE_UNKNOWN == 0 && DML_TENSOR_DATA_TYPE_FLOAT32 == 1 &&
                  DML_TENSOR_DATA_TYPE_FLOAT16 == 2 && DML_TENSOR_DATA_TYPE_UINT32 == 3 &&
                  DML_TENSOR_DATA_TYPE_UINT16 == 4 && DML_TENSOR_DATA_TYPE_UINT8 == 5 &&
                  DML_TENSOR_DATA_TYPE_INT32 == 6 && DML_TENSOR_DATA_TYPE_INT16 == 7 &&
                  DML_TENSOR_DATA_TYPE_INT8 == 8 && DML_TENSOR_DATA_TYPE_FLOAT64 == 9 &&
                  DML_TENSOR_DATA_TYPE_UINT64 == 10 && DML_TENSOR_DATA_TYPE_INT64 == 11 &&
                  DML_TENSOR_DATA_TYPE_UINT4 == 12 && DML_TENSOR_DATA_TYPE_INT4 == 13,
              "values");
static_assert(DML_TENSOR_TYPE_INVALID == 0 && DML_TENSOR_TYPE_BUFFER == 1, "values");
static_assert(DML_TENSOR_FLAG_NONE == 0 && DML_TENSOR_FLAG_OWNED_BY_DML == 1, "values");
static_assert(DML_OPERATOR_INVALID == 0 && DML_OPERATOR_SPACE_TO_DEPTH == 68 &&
                  DML_OPERATOR_DEPTH_TO_SPACE == 69 && DML_OPERATOR_DEPTH_TO_SPACE1 == 113 &&
                  DML_OPERATOR_SPACE_TO_DEPTH1 == 114 && DML_OPERATOR_FOLD == 176 &&
                  DML_OPERATOR_UNFOLD == 177,
              "values");
static_assert(DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW == 0 && DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH == 1,
              "values");
static_assert(DML_FEATURE_LEVEL_1_0 == 0x1000 && DML_FEATURE_LEVEL_2_0 == 0x2000 &&
                  DML_FEATURE_LEVEL_2_1 == 0x2100 && DML_FEATURE_LEVEL_3_0 == 0x3000 &&
                  DML_FEATURE_LEVEL_3_1 == 0x3100 && DML_FEATURE_LEVEL_4_0 == 0x4000 &&
                  DML_FEATURE_LEVEL_4_1 == 0x4100 && DML_FEATURE_LEVEL_5_0 == 0x5000 &&
                  DML_FEATURE_LEVEL_5_1 == 0x5100 && DML_FEATURE_LEVEL_5_2 == 0x5200 &&
                  DML_FEATURE_LEVEL_6_0 == 0x6000 && DML_FEATURE_LEVEL_6_1 == 0x6100 &&
                  DML_FEATURE_LEVEL_6_2 == 0x6200 && DML_FEATURE_LEVEL_6_3 == 0x6300 &&
                  DML_FEATURE_LEVEL_6_4 == 0x6400,
              "values");
static_assert(REBLOCK_SUCCESS == 0 && REBLOCK_INVALID_ARGUMENT == 1 && REBLOCK_UNSUPPORTED_OPERATOR == 2 &&
                  REBLOCK_BUFFER_TOO_SMALL == 3 && REBLOCK_OUT_OF_MEMORY == 4,
              "values");

// Members and functions have these types: a program in another language writes them down.
void check_types(void);
void check_types(void) {
  const UINT count = 0;
  const UINT64 bytes = 0;
  const DML_BUFFER_TENSOR_DESC buffer = {
      DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, count, &count, &count, bytes, count};
  const void* any = &buffer;
  const DML_TENSOR_DESC tensor = {DML_TENSOR_TYPE_BUFFER, any};
  const DML_DEPTH_TO_SPACE_OPERATOR_DESC unpack = {&tensor, &tensor, count};
  const DML_SPACE_TO_DEPTH_OPERATOR_DESC pack = {&tensor, &tensor, count};
  const DML_DEPTH_TO_SPACE1_OPERATOR_DESC unpack1 = {&tensor, &tensor, count,
                                                     DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH};
  const DML_SPACE_TO_DEPTH1_OPERATOR_DESC pack1 = {&tensor, &tensor, count,
                                                   DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH};
  const DML_UNFOLD_OPERATOR_DESC unfold = {&tensor, &tensor, count, &count, &count, &count, &count, &count};
  const DML_FOLD_OPERATOR_DESC fold = {&tensor, &tensor, count, &count, &count, &count, &count, &count};
  const DML_OPERATOR_DESC desc = {DML_OPERATOR_UNFOLD, any};
  reblock_status (*const create)(const DML_OPERATOR_DESC*, DML_FEATURE_LEVEL, reblock_operator**) =
      reblock_operator_create;
  reblock_status (*const dispatch)(const reblock_operator*, const void*, size_t, void*, size_t, size_t) =
      reblock_operator_dispatch;
  void (*const destroy)(reblock_operator*) = reblock_operator_destroy;
  uint64_t (*const sizes[2])(const reblock_operator*) = {reblock_operator_input_size,
                                                         reblock_operator_output_size};
  reblock_status (*const tensor_size)(const DML_BUFFER_TENSOR_DESC*, uint64_t*) = reblock_buffer_tensor_size;
  const char* (*const texts[2])(void) = {reblock_last_error, reblock_version};
  (void)unpack, (void)pack, (void)unpack1, (void)pack1, (void)unfold, (void)fold, (void)desc;
  (void)create, (void)dispatch, (void)destroy, (void)sizes, (void)tensor_size, (void)texts;
}
