// SPDX-License-Identifier: MIT
// The functions of calls, for collectors that know a call by the number that a Sink returned for it
// (machine/machine.h), whether that is a node of a call tree or not.
#pragma once

#include <cstdint>

#include "analyzer/machine/functions.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

class CalledFunctions {
 public:
  virtual FunctionId function_of(uint32_t node) const = 0;
  virtual bool is_builtin(FunctionId function) const = 0;
  virtual FunctionName described(FunctionId function) const = 0;

 protected:
  ~CalledFunctions() = default;
};

}  // namespace luatrace::analyze
