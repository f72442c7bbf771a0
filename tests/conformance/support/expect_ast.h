// SPDX-License-Identifier: MIT
// Syntax tree of the .expect notation (see expect.h): what the parser hands to
// the expander. Plain data; every node knows its line for messages.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace luatrace::test {

// An integer expression over the variables of a rule or loop.
struct Expr {
  char op = '#';  // '#' constant, 'v' variable, else the operator (see expect_parse.cc)
  long value = 0;
  std::string name;
  std::unique_ptr<Expr> left, right;
};

enum class ItemType { kCall, kRule, kRepeat, kFor, kIf, kCreate, kResume, kYield, kFail };
enum class Ending { kReturn, kUnwind, kOpen, kTail };

struct Item {
  ItemType type = ItemType::kCall;
  int line = 0;
  std::string name;         // function, rule, coroutine script or loop variable
  std::string alias;        // kCreate: name of the instance
  std::vector<Expr> args;   // rule and script arguments; bounds of a loop; condition
  std::vector<Item> body;   // what the call does; first branch
  std::vector<Item> other;  // else branch; after a tail call: the callee (none: no events)
  Ending ending = Ending::kReturn;
};

struct Pattern {  // a parameter: a name, or a constant that must be equal
  std::string name;
  long value = 0;
};

struct Rule {
  std::vector<Pattern> params;
  std::vector<Item> body;
};

struct Script {
  std::map<std::string, std::string> directives;
  std::map<std::string, std::string> names;        // `let` bindings
  std::map<std::string, std::vector<Rule>> rules;  // clauses, first match counts
  std::map<std::string, Rule> coroutines;
  std::vector<Item> trace;
};

// Throws ExpectError.
Script ParseScript(const std::string& text, const std::string& file);

}  // namespace luatrace::test
