// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include <reblock/c.h>

int main(void) {
  const UINT depth_sizes[4] = {1, 4, 1, 1};
  const UINT space_sizes[4] = {1, 1, 2, 2};
  const DML_BUFFER_TENSOR_DESC buffers[2] = {
      {DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 4, depth_sizes, NULL, 16, 0},
      {DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 4, space_sizes, NULL, 16, 0}};
  const DML_TENSOR_DESC depth = {DML_TENSOR_TYPE_BUFFER, &buffers[0]};
  const DML_TENSOR_DESC space = {DML_TENSOR_TYPE_BUFFER, &buffers[1]};
  const DML_DEPTH_TO_SPACE_OPERATOR_DESC blocks = {&depth, &space, 2};
  const DML_OPERATOR_DESC desc = {DML_OPERATOR_DEPTH_TO_SPACE, &blocks};
  const int input[4] = {1, 2, 3, 4};
  int output[4] = {0, 0, 0, 0};
  reblock_operator* op = NULL;
  if (reblock_operator_create(&desc, DML_FEATURE_LEVEL_2_1, &op) == REBLOCK_SUCCESS) {
    reblock_operator_dispatch(op, input, sizeof(input), output, sizeof(output), 1);
  }
  reblock_operator_destroy(op);
  printf("reblock %s: %d %d %d %d %s\n", reblock_version(), output[0], output[1], output[2], output[3],
         reblock_last_error());
  return memcmp(input, output, sizeof(input)) == 0 ? 0 : 1;
}
