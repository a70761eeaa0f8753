// SPDX-License-Identifier: BSD-3-Clause
//
// reblock: depth_to_space, space_to_depth, unfold (im2col) and fold (col2im) for strided tensors.
#pragma once

#include <reblock/axis_values.hpp>
#include <reblock/data_type.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/executor.hpp>
#include <reblock/feature_level.hpp>
#include <reblock/operator.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>
#include <reblock/version.hpp>
#include <reblock/window.hpp>
