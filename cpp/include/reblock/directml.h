// SPDX-License-Identifier: BSD-3-Clause
//
// This header declares DirectML's descriptions of this library's operators, for C11 and C++. Names, members, their order,
// types and values are those of DirectML.h at DML_TARGET_VERSION 0x6400 (Microsoft.AI.DirectML 1.15). DirectML documents
// them on pages below https://learn.microsoft.com/windows/win32/api/directml/ :
//
//     ne-directml-dml_tensor_data_type, ne-directml-dml_tensor_type, ne-directml-dml_tensor_flags,
//     ne-directml-dml_operator_type, ne-directml-dml_depth_space_order, ne-directml-dml_feature_level,
//     ns-directml-dml_buffer_tensor_desc, ns-directml-dml_tensor_desc, ns-directml-dml_operator_desc,
//     ns-directml-dml_depth_to_space_operator_desc, ns-directml-dml_depth_to_space1_operator_desc,
//     ns-directml-dml_space_to_depth_operator_desc, ns-directml-dml_space_to_depth1_operator_desc
//
// and, for unfold and fold, below https://learn.microsoft.com/windows/ai/directml/api/ :
//
//     ns-directml-dml_unfold_operator_desc, ns-directml-dml_fold_operator_desc
//
// A program that also includes DirectML.h must include it first. Then this header declares nothing.
#pragma once

#if defined(DIRECTML_H)

#if !defined(DML_TARGET_VERSION) || DML_TARGET_VERSION < 0x2000
#error \
    "reblock needs a DirectML.h whose DML_TARGET_VERSION is 0x2000 or more: an older one has no DML_FEATURE_LEVEL"
#endif

#else

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

// The headers of Windows, and of DirectX for Linux, declare the same types. To declare them twice is no error.
typedef unsigned int UINT;
#if defined(_WIN32)
typedef unsigned long long UINT64;
#else
typedef uint64_t UINT64;
#endif

typedef enum DML_TENSOR_DATA_TYPE {
  DML_TENSOR_DATA_TYPE_UNKNOWN = 0,
  DML_TENSOR_DATA_TYPE_FLOAT32 = 1,
  DML_TENSOR_DATA_TYPE_FLOAT16 = 2,
  DML_TENSOR_DATA_TYPE_UINT32 = 3,
  DML_TENSOR_DATA_TYPE_UINT16 = 4,
  DML_TENSOR_DATA_TYPE_UINT8 = 5,
  DML_TENSOR_DATA_TYPE_INT32 = 6,
  DML_TENSOR_DATA_TYPE_INT16 = 7,
  DML_TENSOR_DATA_TYPE_INT8 = 8,
  DML_TENSOR_DATA_TYPE_FLOAT64 = 9,
  DML_TENSOR_DATA_TYPE_UINT64 = 10,
  DML_TENSOR_DATA_TYPE_INT64 = 11,
  DML_TENSOR_DATA_TYPE_UINT4 = 12,
  DML_TENSOR_DATA_TYPE_INT4 = 13
} DML_TENSOR_DATA_TYPE;

typedef enum DML_TENSOR_TYPE { DML_TENSOR_TYPE_INVALID = 0, DML_TENSOR_TYPE_BUFFER = 1 } DML_TENSOR_TYPE;

typedef enum DML_TENSOR_FLAGS {
  DML_TENSOR_FLAG_NONE = 0x0,
  DML_TENSOR_FLAG_OWNED_BY_DML = 0x1
} DML_TENSOR_FLAGS;

/// Sizes and strides count elements. If Strides is null, the elements are packed in C order.
typedef struct DML_BUFFER_TENSOR_DESC {
  DML_TENSOR_DATA_TYPE DataType;
  DML_TENSOR_FLAGS Flags;
  UINT DimensionCount;
  const UINT* Sizes;
  const UINT* Strides;
  UINT64 TotalTensorSizeInBytes;
  UINT GuaranteedBaseOffsetAlignment;
} DML_BUFFER_TENSOR_DESC;

/// Desc points to a DML_BUFFER_TENSOR_DESC.
typedef struct DML_TENSOR_DESC {
  DML_TENSOR_TYPE Type;
  const void* Desc;
} DML_TENSOR_DESC;

/// The enum has the operators of this library.
typedef enum DML_OPERATOR_TYPE {
  DML_OPERATOR_INVALID = 0,
  DML_OPERATOR_SPACE_TO_DEPTH = 68,
  DML_OPERATOR_DEPTH_TO_SPACE = 69,
  DML_OPERATOR_DEPTH_TO_SPACE1 = 113,
  DML_OPERATOR_SPACE_TO_DEPTH1 = 114,
  DML_OPERATOR_FOLD = 176,
  DML_OPERATOR_UNFOLD = 177
} DML_OPERATOR_TYPE;

typedef enum DML_DEPTH_SPACE_ORDER {
  DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW = 0,
  DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH = 1
} DML_DEPTH_SPACE_ORDER;

/// Desc points to the struct of the operator that Type names.
typedef struct DML_OPERATOR_DESC {
  DML_OPERATOR_TYPE Type;
  const void* Desc;
} DML_OPERATOR_DESC;

typedef struct DML_SPACE_TO_DEPTH_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT BlockSize;
} DML_SPACE_TO_DEPTH_OPERATOR_DESC;

typedef struct DML_DEPTH_TO_SPACE_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT BlockSize;
} DML_DEPTH_TO_SPACE_OPERATOR_DESC;

typedef struct DML_DEPTH_TO_SPACE1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT BlockSize;
  DML_DEPTH_SPACE_ORDER Order;
} DML_DEPTH_TO_SPACE1_OPERATOR_DESC;

typedef struct DML_SPACE_TO_DEPTH1_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT BlockSize;
  DML_DEPTH_SPACE_ORDER Order;
} DML_SPACE_TO_DEPTH1_OPERATOR_DESC;

/// Each array has DimensionCount values, one for each spatial size of OutputTensor.
typedef struct DML_FOLD_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* WindowSizes;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
} DML_FOLD_OPERATOR_DESC;

/// Each array has DimensionCount values, one for each spatial size of InputTensor.
typedef struct DML_UNFOLD_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* WindowSizes;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
} DML_UNFOLD_OPERATOR_DESC;

typedef enum DML_FEATURE_LEVEL {
  DML_FEATURE_LEVEL_1_0 = 0x1000,
  DML_FEATURE_LEVEL_2_0 = 0x2000,
  DML_FEATURE_LEVEL_2_1 = 0x2100,
  DML_FEATURE_LEVEL_3_0 = 0x3000,
  DML_FEATURE_LEVEL_3_1 = 0x3100,
  DML_FEATURE_LEVEL_4_0 = 0x4000,
  DML_FEATURE_LEVEL_4_1 = 0x4100,
  DML_FEATURE_LEVEL_5_0 = 0x5000,
  DML_FEATURE_LEVEL_5_1 = 0x5100,
  DML_FEATURE_LEVEL_5_2 = 0x5200,
  DML_FEATURE_LEVEL_6_0 = 0x6000,
  DML_FEATURE_LEVEL_6_1 = 0x6100,
  DML_FEATURE_LEVEL_6_2 = 0x6200,
  DML_FEATURE_LEVEL_6_3 = 0x6300,
  DML_FEATURE_LEVEL_6_4 = 0x6400
} DML_FEATURE_LEVEL;

#if defined(__cplusplus)
}
#endif

#endif
