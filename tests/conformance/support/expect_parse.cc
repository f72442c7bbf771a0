// SPDX-License-Identifier: MIT
// Parser of the .expect notation: a lexer over the whole text and a recursive
// descent, one function per construct. Directives (`key: value`) are whole
// lines and are taken out first.
#include <cctype>
#include <set>

#include "expect.h"
#include "expect_ast.h"

namespace luatrace::test {
namespace {

struct Token {
  enum Type { kName, kNumber, kSign, kEnd } type = kEnd;
  std::string text;
  int line = 0;
};

bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':' ||
         c == '$';
}

class Lexer {
 public:
  Lexer(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Token Next() {
    SkipBlank();
    Token token{Token::kEnd, "", line_};
    if (at_ == text_.size()) return token;
    char c = text_[at_];
    if (c == '"') return Quoted(token);
    if (IsNameStart(c)) return Word(token);
    if (std::isdigit(static_cast<unsigned char>(c))) return Number(token);
    return Sign(token);
  }

  [[noreturn]] void Fail(int line, const std::string& why) const {
    throw ExpectError(file_ + ":" + std::to_string(line) + ": " + why);
  }

 private:
  void SkipBlank() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      if (text_[at_] == '\n')
        ++line_;
      else if (!std::isspace(static_cast<unsigned char>(text_[at_])))
        return;
    }
  }
  Token Quoted(Token token) {
    size_t end = text_.find('"', at_ + 1);
    if (end == std::string::npos) Fail(line_, "a quoted name without its end");
    token.type = Token::kName;
    token.text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return token;
  }
  Token Word(Token token) {
    size_t start = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    token.type = Token::kName;
    token.text = text_.substr(start, at_ - start);
    // C:abc* is one name; a * after any other name multiplies.
    if (token.text.starts_with("C:") && at_ < text_.size() && text_[at_] == '*')
      token.text += text_[at_++];
    return token;
  }
  Token Number(Token token) {
    size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    token.type = Token::kNumber;
    token.text = text_.substr(start, at_ - start);
    return token;
  }
  Token Sign(Token token) {
    static const std::set<std::string> kPairs = {"=>", "==", "<=", ">=", "!=", "&&", "||"};
    token.type = Token::kSign;
    token.text = text_.substr(at_, 2);
    if (!kPairs.count(token.text)) token.text.resize(1);
    at_ += token.text.size();
    return token;
  }

  const std::string& text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_ = 1;
};

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : lexer_(text, file) { Advance(); }

  void ParseInto(Script* script) {
    while (token_.type != Token::kEnd) {
      std::string what = Name("rule, co, let or trace");
      if (what == "trace")
        script->trace = Block();
      else if (what == "rule")
        ParseRule(script);
      else if (what == "co")
        ParseCoroutine(script);
      else if (what == "let")
        ParseLet(script);
      else
        Fail("rule, co, let or trace expected, not " + what);
    }
  }

 private:
  void Advance() { token_ = lexer_.Next(); }
  [[noreturn]] void Fail(const std::string& why) const { lexer_.Fail(token_.line, why); }
  bool Is(const char* text) const { return token_.type != Token::kEnd && token_.text == text; }
  bool Accept(const char* text) {
    if (!Is(text)) return false;
    Advance();
    return true;
  }
  void Expect(const char* text) {
    if (!Accept(text)) Fail(std::string(text) + " expected, not '" + token_.text + "'");
  }
  std::string Name(const char* what) {
    if (token_.type != Token::kName)
      Fail(std::string(what) + " expected, not '" + token_.text + "'");
    std::string name = token_.text;
    Advance();
    return name;
  }

  void ParseRule(Script* script) {
    std::string name = Name("name of a rule");
    Rule rule;
    rule.params = Params();
    Expect("=");
    rule.body = Is("{") ? Block() : Single();
    script->rules[name].push_back(std::move(rule));
  }
  void ParseCoroutine(Script* script) {
    std::string name = Name("name of a coroutine script");
    Rule rule;
    rule.params = Params();
    rule.body = Block();
    script->coroutines[name] = std::move(rule);
  }
  void ParseLet(Script* script) {
    std::string name = Name("a name");
    Expect("=");
    script->names[name] = Name("a function, for example \"other.lua:3\"");
  }
  std::vector<Pattern> Params() {
    std::vector<Pattern> params;
    if (!Accept("(")) return params;
    while (!Accept(")")) {
      Pattern p;
      if (token_.type == Token::kNumber)
        p.value = Constant();
      else
        p.name = Name("a parameter");
      params.push_back(std::move(p));
      if (!Is(")")) Expect(",");
    }
    return params;
  }
  long Constant() {
    long value = std::stol(token_.text);
    Advance();
    return value;
  }

  std::vector<Item> Block() {
    Expect("{");
    std::vector<Item> items;
    while (!Accept("}")) items.push_back(ParseItem());
    return items;
  }
  std::vector<Item> Single() {
    std::vector<Item> items;
    items.push_back(ParseItem());
    return items;
  }

  Item ParseItem() {
    Item item;
    item.line = token_.line;
    std::string name = Name("an event");
    if (name == "repeat") return Loop(std::move(item), ItemType::kRepeat);
    if (name == "for") return Loop(std::move(item), ItemType::kFor);
    if (name == "if") return If(std::move(item));
    if (name == "create") return Create(std::move(item));
    if (name == "resume") return Resume(std::move(item));
    if (name == "yield") return Plain(std::move(item), ItemType::kYield);
    if (name == "fail") return Plain(std::move(item), ItemType::kFail);
    item.name = name;
    return Is("(") ? UseRule(std::move(item)) : ParseCall(std::move(item));
  }
  Item Plain(Item item, ItemType type) {
    item.type = type;
    return item;
  }
  Item ParseCall(Item item) {
    if (Is("{")) item.body = Block();
    if (Accept("!"))
      item.ending = Ending::kUnwind;
    else if (Accept("~"))
      item.ending = Ending::kOpen;
    else if (Accept("=>")) {
      item.ending = Ending::kTail;
      if (!Accept("-")) item.other = Single();
    }
    return item;
  }
  Item UseRule(Item item) {
    item.type = ItemType::kRule;
    item.args = Arguments();
    return item;
  }
  std::vector<Expr> Arguments() {
    std::vector<Expr> args;
    Expect("(");
    while (!Accept(")")) {
      args.push_back(ParseExpr(0));
      if (!Is(")")) Expect(",");
    }
    return args;
  }
  Item Loop(Item item, ItemType type) {
    item.type = type;
    if (type == ItemType::kFor) {
      item.name = Name("a loop variable");
      Expect("=");
    }
    item.args.push_back(ParseExpr(0));
    while (Accept(",")) item.args.push_back(ParseExpr(0));
    if (type == ItemType::kFor && (item.args.size() < 2 || item.args.size() > 3))
      Fail("for needs two bounds and perhaps a step");
    item.body = Block();
    return item;
  }
  Item If(Item item) {
    item.type = ItemType::kIf;
    item.args.push_back(ParseExpr(0));
    item.body = Block();
    if (Accept("else")) item.other = Is("if") ? Single() : Block();
    return item;
  }
  Item Create(Item item) {
    item.type = ItemType::kCreate;
    item.name = item.alias = Name("a coroutine script");
    if (Is("(")) item.args = Arguments();
    if (Accept("as")) item.alias = Name("a name for the coroutine");
    return item;
  }
  Item Resume(Item item) {
    item.type = ItemType::kResume;
    item.name = Name("a coroutine");
    return item;
  }

  // Precedence climbing; operators by their first character, 'e' is ==, 'n' !=,
  // 'l' <=, 'g' >=, '&' &&, '|' ||.
  static int Precedence(const std::string& op) {
    static const std::map<std::string, int> kLevels = {
        {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<", 4}, {">", 4}, {"<=", 4},
        {">=", 4}, {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6}, {"%", 6}};
    auto it = kLevels.find(op);
    return it == kLevels.end() ? 0 : it->second;
  }
  static char Code(const std::string& op) {
    if (op == "==") return 'e';
    if (op == "!=") return 'n';
    if (op == "<=") return 'l';
    if (op == ">=") return 'g';
    return op[0];
  }
  Expr ParseExpr(int level) {
    Expr left = Primary();
    for (int p; token_.type == Token::kSign && (p = Precedence(token_.text)) > level;) {
      Expr both;
      both.op = Code(token_.text);
      Advance();
      both.left = std::make_unique<Expr>(std::move(left));
      both.right = std::make_unique<Expr>(ParseExpr(p));
      left = std::move(both);
    }
    return left;
  }
  Expr Primary() {
    Expr e;
    if (Accept("(")) {
      e = ParseExpr(0);
      Expect(")");
    } else if (token_.type == Token::kNumber) {
      e.value = Constant();
    } else {
      e.op = 'v';
      e.name = Name("a number or variable");
    }
    return e;
  }

  Lexer lexer_;
  Token token_;
};

// Cuts the directives out of text (leaving empty lines) and stores them.
std::string TakeDirectives(const std::string& text, Script* script) {
  static const std::set<std::string> kKeys = {"c-functions", "ignore", "args",  "status",
                                              "needs",       "skip",   "stderr"};
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    size_t colon = line.find(": ");
    if (colon != std::string::npos && kKeys.count(line.substr(0, colon)))
      script->directives[line.substr(0, colon)] = line.substr(colon + 2);
    else
      rest += line;
    rest += '\n';
    at = end + 1;
  }
  return rest;
}

}  // namespace

Script ParseScript(const std::string& text, const std::string& file) {
  Script script;
  std::string rest = TakeDirectives(text, &script);
  Parser(rest, file).ParseInto(&script);
  if (script.trace.empty()) throw ExpectError(file + ": missing trace { ... }");
  return script;
}

}  // namespace luatrace::test
