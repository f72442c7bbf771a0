// SPDX-License-Identifier: MIT
#include "recorder/sampler/call_frame.h"

#include <cstring>

namespace luatrace::record::sampler {
namespace {

constexpr size_t kMaxStates = 32;                       // remembered ones
constexpr size_t kMaxExpressions = 8;                   // of a row
constexpr int kMaxOperations = 64;                      // of an expression
constexpr size_t kMaxExpression = 10 * kMaxOperations;  // bytes of one
constexpr size_t kMaxValues = 16;

// -- Bytes --

class Cursor {
 public:
  Cursor(std::string_view bytes, uint64_t address) : bytes_(bytes), address_(address) {}
  bool at_end() const { return bad_ || at_ >= bytes_.size(); }
  bool bad() const { return bad_; }
  uint64_t address() const { return address_ + at_; }

  template <class T>
  T take() {
    T value{};
    const std::string_view part = text(sizeof value);
    if (!bad_) std::memcpy(&value, part.data(), sizeof value);
    return value;
  }
  std::string_view text(uint64_t size) {
    if (bad_ || size > bytes_.size() - at_) return bad_ = true, std::string_view();
    const std::string_view part = bytes_.substr(at_, size);
    at_ += size;
    return part;
  }
  std::string_view rest() { return text(bytes_.size() - at_); }
  std::string_view string() {
    const size_t end = bad_ ? bytes_.npos : bytes_.find('\0', at_);
    if (end == bytes_.npos) return bad_ = true, std::string_view();
    const std::string_view part = text(end - at_);
    at_++;
    return part;
  }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = take<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    bad_ = true;
    return 0;
  }
  int64_t signed_leb() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64;) {
      const auto byte = take<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    bad_ = true;
    return 0;
  }
  // A pointer in one of the encodings of .eh_frame.
  uint64_t pointer(uint8_t encoding) {
    const uint64_t here = address();
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = take<uint64_t>();
        break;
      case 0x02:
        value = take<uint16_t>();
        break;
      case 0x03:
        value = take<uint32_t>();
        break;
      case 0x0a:
        value = static_cast<uint64_t>(int64_t{take<int16_t>()});
        break;
      case 0x0b:
        value = static_cast<uint64_t>(int64_t{take<int32_t>()});
        break;
      default:
        bad_ = true;
    }
    if ((encoding & 0x70) == 0x10) return value + here;
    if ((encoding & 0xf0) != 0) bad_ = true;
    return value;
  }

 private:
  std::string_view bytes_;
  uint64_t address_;
  size_t at_ = 0;
  bool bad_ = false;
};

// -- Entries --

struct Common {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint8_t encoding = 0;
  bool signal = false, augmented = false;
  std::string_view program;
};

bool read_common(const FrameEntry& entry, Common& c) {
  Cursor in(entry.common, entry.common_address);
  const auto id = in.take<uint32_t>();
  const auto version = in.take<uint8_t>();
  const std::string_view augmentation = in.string();
  if (in.bad() || id != 0 || (version != 1 && version != 3)) return false;
  c.code_align = in.unsigned_leb();
  c.data_align = in.signed_leb();
  const uint64_t ra = version == 1 ? in.take<uint8_t>() : in.unsigned_leb();
  if (ra != kRip) return false;
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return false;
    c.augmented = true;
    const uint64_t size = in.unsigned_leb(), from = in.address();
    Cursor data(in.text(size), from);
    for (const char kind : augmentation.substr(1)) {
      if (kind == 'R') c.encoding = data.take<uint8_t>();
      if (kind == 'L') data.take<uint8_t>();
      if (kind == 'P') data.pointer(data.take<uint8_t>() & 0x0f);
      if (kind == 'S') c.signal = true;
    }
    if (data.bad()) return false;
  }
  c.program = in.rest();
  return !in.bad();
}

// -- Programs --

// Executes the instructions of an entry until `pc`.
class Machine {
 public:
  Machine(const Common& common, Row& row) : common_(common), row_(row) {}

  // False: it contains something that is not understood.
  bool run(std::string_view program, uint64_t address, uint64_t pc, const Row* initial);

 private:
  bool execute(Cursor& in, uint8_t op);
  bool define_cfa(Cursor& in, uint8_t op);
  bool define(Cursor& in, uint8_t op);
  bool set(uint64_t number, Rule rule) {
    if (number < kRegisters) row_.rules[number] = rule;
    return true;
  }
  bool restore(uint64_t number) {
    if (number < kRegisters) row_.rules[number] = initial_ ? initial_->rules[number] : Rule{};
    return true;
  }
  Rule expression(Cursor& in, Rule::Kind kind);
  int64_t factored(uint64_t n) const { return static_cast<int64_t>(n) * common_.data_align; }

  const Common& common_;
  Row& row_;
  const Row* initial_ = nullptr;
  uint64_t location_ = 0;
  bool too_long_ = false;  // an expression
  std::vector<Row> states_;
};

bool Machine::run(std::string_view program, uint64_t address, uint64_t pc, const Row* initial) {
  Cursor in(program, 0);
  location_ = address;
  initial_ = initial;
  while (!in.at_end()) {
    const auto byte = in.take<uint8_t>();
    const uint8_t low = byte & 0x3f;
    bool good = true;
    switch (byte >> 6) {
      case 1:
        location_ += low * common_.code_align;
        break;
      case 2:
        good = set(low, {Rule::kOffset, factored(in.unsigned_leb())});
        break;
      case 3:
        good = restore(low);
        break;
      default:
        good = execute(in, byte);
    }
    if (!good || in.bad() || too_long_) return false;
    if (location_ > pc) return true;
  }
  return true;
}

Rule Machine::expression(Cursor& in, Rule::Kind kind) {
  const std::string_view text = in.text(in.unsigned_leb());
  if (text.size() > kMaxExpression) too_long_ = true;
  row_.expressions.emplace_back(text.substr(0, kMaxExpression));
  return {kind, static_cast<int64_t>(row_.expressions.size() - 1)};
}

bool Machine::execute(Cursor& in, uint8_t op) {
  switch (op) {
    case 0x00:  // nop
      return true;
    case 0x01:  // set_loc
      location_ = in.pointer(common_.encoding);
      return true;
    case 0x02:  // advance_loc1
      location_ += in.take<uint8_t>() * common_.code_align;
      return true;
    case 0x03:
      location_ += in.take<uint16_t>() * common_.code_align;
      return true;
    case 0x04:
      location_ += in.take<uint32_t>() * common_.code_align;
      return true;
    case 0x0a:  // remember_state
      states_.push_back(row_);
      return states_.size() <= kMaxStates;
    case 0x0b: {  // restore_state
      if (states_.empty()) return false;
      row_ = states_.back();
      states_.pop_back();
      return true;
    }
    case 0x2e:  // GNU_args_size
      in.unsigned_leb();
      return true;
    default:
      return op >= 0x0c && op <= 0x13 && op != 0x10 && op != 0x11 ? define_cfa(in, op)
                                                                  : define(in, op);
  }
}

bool Machine::define_cfa(Cursor& in, uint8_t op) {
  if (op == 0x0c || op == 0x12 || op == 0x0d) {  // def_cfa, def_cfa_sf, def_cfa_register
    const uint64_t number = in.unsigned_leb();
    if (number >= kRegisters) return false;
    row_.cfa_register = static_cast<uint8_t>(number);
    row_.cfa.kind = Rule::kOffset;
  }
  if (op == 0x0c || op == 0x0e) row_.cfa.value = static_cast<int64_t>(in.unsigned_leb());
  if (op == 0x12 || op == 0x13) row_.cfa.value = in.signed_leb() * common_.data_align;
  if (op == 0x0f) row_.cfa = expression(in, Rule::kExpression);
  return row_.expressions.size() <= kMaxExpressions;
}

bool Machine::define(Cursor& in, uint8_t op) {
  const uint64_t number = in.unsigned_leb();
  switch (op) {
    case 0x05:  // offset_extended
      return set(number, {Rule::kOffset, factored(in.unsigned_leb())});
    case 0x06:  // restore_extended
      return restore(number);
    case 0x07:
      return set(number, {Rule::kUndefined, 0});
    case 0x08:
      return set(number, {Rule::kSame, 0});
    case 0x09:
      return set(number, {Rule::kRegister, static_cast<int64_t>(in.unsigned_leb())});
    case 0x10:
      return set(number, expression(in, Rule::kExpression)),
             row_.expressions.size() <= kMaxExpressions * 3;
    case 0x11:  // offset_extended_sf
      return set(number, {Rule::kOffset, in.signed_leb() * common_.data_align});
    case 0x14:
      return set(number, {Rule::kValOffset, factored(in.unsigned_leb())});
    case 0x15:
      return set(number, {Rule::kValOffset, in.signed_leb() * common_.data_align});
    case 0x16:
      return set(number, expression(in, Rule::kValExpression)),
             row_.expressions.size() <= kMaxExpressions * 3;
    default:
      return false;
  }
}

// -- Expressions --

// Those that assemblers write for C libraries and linkage tables.
class Evaluator {
 public:
  Evaluator(const Registers& r, const StackCopy& stack) : r_(r), stack_(stack) {}

  std::optional<uint64_t> evaluate(std::string_view text, std::optional<uint64_t> first) {
    Cursor in(text, 0);
    values_.clear();
    if (first) values_.push_back(*first);
    for (int i = 0; !in.at_end(); i++)
      if (i == kMaxOperations || !execute(in, in.take<uint8_t>()) || in.bad()) return std::nullopt;
    if (values_.empty()) return std::nullopt;
    return values_.back();
  }

 private:
  bool push(uint64_t v) {
    values_.push_back(v);
    return values_.size() <= kMaxValues;
  }
  bool execute(Cursor& in, uint8_t op);
  bool combine(uint8_t op);

  const Registers& r_;
  const StackCopy& stack_;
  std::vector<uint64_t> values_;
};

bool Evaluator::execute(Cursor& in, uint8_t op) {
  if (op >= 0x30 && op <= 0x4f) return push(op - 0x30u);  // lit
  if (op >= 0x70 && op <= 0x8f) {                         // breg
    const size_t number = op - 0x70u;
    const auto offset = static_cast<uint64_t>(in.signed_leb());
    return r_.has(number) && push(r_.value[number] + offset);
  }
  switch (op) {
    case 0x06: {  // deref
      if (values_.empty()) return false;
      return stack_.read(values_.back(), values_.back());
    }
    case 0x08:
      return push(in.take<uint8_t>());
    case 0x09:
      return push(static_cast<uint64_t>(int64_t{in.take<int8_t>()}));
    case 0x0a:
      return push(in.take<uint16_t>());
    case 0x0b:
      return push(static_cast<uint64_t>(int64_t{in.take<int16_t>()}));
    case 0x0c:
      return push(in.take<uint32_t>());
    case 0x0d:
      return push(static_cast<uint64_t>(int64_t{in.take<int32_t>()}));
    case 0x12:  // dup
      return !values_.empty() && push(values_.back());
    case 0x23:  // plus_uconst
      if (values_.empty()) return false;
      values_.back() += in.unsigned_leb();
      return true;
    default:
      return combine(op);
  }
}

bool Evaluator::combine(uint8_t op) {
  if (values_.size() < 2) return false;
  const uint64_t b = values_.back();
  values_.pop_back();
  uint64_t& a = values_.back();
  switch (op) {
    case 0x1a:
      a &= b;
      return true;
    case 0x1c:
      a -= b;
      return true;
    case 0x21:
      a |= b;
      return true;
    case 0x22:
      a += b;
      return true;
    case 0x24:
      a = b < 64 ? a << b : 0;
      return true;
    case 0x25:
      a = b < 64 ? a >> b : 0;
      return true;
    case 0x2a:
      a = static_cast<int64_t>(a) >= static_cast<int64_t>(b);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool StackCopy::read(uint64_t address, uint64_t& value) const {
  if (address < address_ || bytes_.size() < sizeof value ||
      address - address_ > bytes_.size() - sizeof value)
    return false;
  std::memcpy(&value, bytes_.data() + (address - address_), sizeof value);
  return true;
}

size_t Row::memory() const {
  size_t bytes = sizeof *this;
  for (const std::string& e : expressions) bytes += sizeof e + e.capacity();
  return bytes;
}

bool Row::step(Registers& r, const StackCopy& stack) const {
  Evaluator evaluator(r, stack);
  std::optional<uint64_t> base;
  const auto text = [this](int64_t n) -> std::string_view {
    if (static_cast<size_t>(n) >= expressions.size()) return {};
    return expressions[static_cast<size_t>(n)];
  };
  if (cfa.kind == Rule::kExpression)
    base = evaluator.evaluate(text(cfa.value), std::nullopt);
  else if (r.has(cfa_register))
    base = r.value[cfa_register] + static_cast<uint64_t>(cfa.value);
  if (!base) return false;
  Registers caller;
  for (size_t i = 0; i < kRegisters; i++) {
    const Rule& rule = rules[i];
    const uint64_t at = *base + static_cast<uint64_t>(rule.value);
    uint64_t value = 0;
    std::optional<uint64_t> computed;
    if (rule.kind == Rule::kExpression || rule.kind == Rule::kValExpression)
      computed = evaluator.evaluate(text(rule.value), base);
    if (rule.kind == Rule::kOffset && stack.read(at, value)) caller.set(i, value);
    if (rule.kind == Rule::kValOffset) caller.set(i, at);
    if (rule.kind == Rule::kExpression && computed && stack.read(*computed, value))
      caller.set(i, value);
    if (rule.kind == Rule::kValExpression && computed) caller.set(i, *computed);
    const size_t from = rule.kind == Rule::kRegister ? static_cast<size_t>(rule.value) : i;
    if ((rule.kind == Rule::kSame || rule.kind == Rule::kRegister) && r.has(from) && i != kRip)
      caller.set(i, r.value[from]);
  }
  if (rules[kRsp].kind == Rule::kSame) caller.set(kRsp, *base);
  r = caller;
  return r.has(kRip) && r.has(kRsp);
}

std::optional<Row> row_of(const FrameEntry& entry, uint64_t pc) {
  Common common;
  if (!read_common(entry, common)) return std::nullopt;
  Cursor in(entry.bytes, entry.address);
  in.take<uint32_t>();
  Row row;
  row.signal = common.signal;
  row.begin = in.pointer(common.encoding);
  const uint64_t size = in.pointer(common.encoding & 0x0f);
  if (common.augmented) in.text(in.unsigned_leb());
  if (in.bad() || pc < row.begin || pc - row.begin >= size) return std::nullopt;
  Machine machine(common, row);
  if (!machine.run(common.program, 0, UINT64_MAX, nullptr)) return std::nullopt;
  const Row initial = row;
  if (!machine.run(in.rest(), row.begin, pc, &initial)) return std::nullopt;
  return row;
}

}  // namespace luatrace::record::sampler
