// SPDX-License-Identifier: BSD-3-Clause
//
// GCC, which includes this header first, then compiles what Microsoft's compiler for x86-64 would: it takes no extension of
// GCC's. The headers of the system need the extensions, so this header includes them before.
#pragma once

#include <bits/stdc++.h>
#include <dlfcn.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-macro-redefined"
#undef __GNUC__
#pragma GCC diagnostic pop
#define _MSC_VER 1940
#define _M_X64 100

#pragma GCC poison __builtin_shufflevector __builtin_convertvector __builtin_prefetch __builtin_cpu_supports
