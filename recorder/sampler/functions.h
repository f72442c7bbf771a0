// SPDX-License-Identifier: MIT
// Functions: the functions in the samples of one process, with their ids in its stream and their
// descriptions. Lua functions are read from the memory of the process when they are first seen.
// Invariants: a prototype whose memory was used again is another function (walk_check()); a
// description is returned by take_descriptions() before its id is used in the file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recorder/sampler/kernel_symbols.h"
#include "recorder/sampler/reading_time.h"
#include "recorder/sampler/wire.h"
#include "recorder/stack/proto.h"
#include "recorder/vm/lua_image.h"

namespace luatrace::record::sampler {

// A frame of struct walk, as far as it is needed here.
struct LuaFrame {
  uint32_t kind;  // enum walk_kind
  uint32_t check;
  uint64_t what, pc;
};

struct FunctionLine {
  uint32_t id = 0, line = 0;  // 0: not known
};

class Functions {
 public:
  Functions(pid_t pid, const KernelSymbols& kernel);
  ~Functions();

  // The LuaJITs of the process; frames name them by their number.
  void add_image(const LuaImage& image);
  size_t images() const { return images_.size(); }

  // The function of frame `i` of a stack of that LuaJIT, of a sample that was taken then.
  FunctionLine lua(size_t image, std::span<const LuaFrame> stack, size_t i, uint64_t taken_ns);
  // name: of a function of no file.
  uint32_t c_function(uint64_t address, std::string_view name = "");
  uint32_t builtin(size_t image, uint32_t number);
  uint32_t kernel(uint64_t address);
  // Is it the kernel's code that changes from one thread to the next, or a BPF program?
  bool is_switch(uint64_t address) const;
  uint32_t label(std::string_view key, std::string_view value);
  uint32_t collector();
  uint32_t compiler();

  // Memory may have changed: what was read is read again.
  void begin_batch();

  // Bytes of what is known. What is forgotten is read again when it is needed, and has new ids.
  size_t memory() const;
  void forget();

  // New descriptions (struct lt_func) and their number; then there are none.
  std::vector<std::byte> take_descriptions(uint32_t& count);

 private:
  struct Image {
    stack::Layout layout;
    lt_abi abi;
    std::unique_ptr<stack::Memory> no_memory;  // of `lines`, which reads none
    std::unique_ptr<stack::Prototypes> lines;
    std::vector<std::string> builtins;  // their names, by number; empty: not known
  };
  struct Reader;
  struct LuaFunction {
    uint32_t id = 0;
    std::shared_ptr<const stack::Proto> code;  // for lines; null: too many are kept
  };
  Reader& reader(size_t image);
  const stack::Proto* proto_of(size_t image, const LuaFrame& frame);
  const stack::Proto* same_proto(size_t image, const LuaFrame& frame);
  FunctionLine read_function(size_t image, std::span<const LuaFrame> stack, size_t i,
                             uint64_t taken_ns);
  static std::optional<uint64_t> chunk_address(const Image& image, const stack::Proto& p);
  uint32_t check_of(size_t image, const stack::Proto& p);
  const LuaFunction* describe(size_t image, const stack::Proto& p, std::span<const LuaFrame> stack,
                              size_t i);
  std::string lua_name(size_t image, const stack::Proto& p, std::span<const LuaFrame> stack,
                       size_t i, lt_func& f);
  std::string chunk_name(size_t image, const stack::Proto& p);
  uint32_t line_of(const Image& image, const LuaFunction& f, uint64_t pc) const;
  uint32_t number_of(uint64_t key, lt_func f, std::string_view chunk, std::string_view name);

  const pid_t pid_;
  const KernelSymbols& kernel_;
  std::vector<std::unique_ptr<Image>> images_;
  ReadingTime time_;
  std::unique_ptr<Reader> reader_;
  size_t reader_image_ = 0;
  std::unordered_map<uint64_t, LuaFunction> lua_;  // by address and check
  std::unordered_map<uint64_t, uint32_t> others_;  // by type and address or number
  std::vector<std::byte> descriptions_;
  uint32_t described_ = 0, next_id_ = 1;
  size_t kept_ = 0;  // bytes of code
};

}  // namespace luatrace::record::sampler
