# SPDX-License-Identifier: MIT
# Turns apt source lists into deb-src lists of another release.
#
#   awk -v format=deb822|oneline -v release=trixie -v trusted=0|1 -f deb-src.awk <INPUT
#
# Files of deb822 stanzas are joined with an empty line between them.
#
# Keeps HOW to reach the mirror (address, proxy options, keys) and replaces WHAT is requested.
# Entries that cannot be the main archive (suites such as bookworm-security or nodistro/, no
# component "main") are left out.
# Invariant: the output names no mirror that the input does not name.

function main_suite(words,    n, w, i) {
  n = split(words, w, /[ \t]+/)
  for (i = 1; i <= n; i++) if (w[i] ~ /^[a-z]+$/) return 1
  return 0
}

function has_main(words) { return (" " words " ") ~ /[ \t]main[ \t]/ }

# -- deb822: stanzas of "Field: value", values continue on indented lines --

function flush_stanza() {
  if (types ~ /deb/ && enabled && main_suite(suites) && has_main(components)) {
    printf "Types: deb-src\nSuites: %s\nComponents: main\n%s", release, kept
    if (trusted) print "Trusted: yes"
    print ""
  }
  types = suites = components = kept = field = ""
  enabled = 1
}

function take_field(    value) {
  value = $0
  sub(/^[^:]*:[ \t]*/, "", value)
  field = tolower(substr($0, 1, index($0, ":") - 1))
  if (field == "types") types = value
  else if (field == "suites") suites = value
  else if (field == "components") components = value
  else if (field == "enabled") enabled = (tolower(value) !~ /^(no|false|0|off|without|disable)$/)
  else if (field != "architectures" && !(trusted && field == "trusted")) { kept = kept $0 "\n"; return }
  $0 = ""
}

function take_continuation() {
  if (field == "suites") suites = suites " " $0
  else if (field == "components") components = components " " $0
  else if (field != "types" && field != "architectures" && field != "enabled") kept = kept $0 "\n"
}

# -- one line: deb [option=value ...] address suite component... --

function take_line(line,    options, n, w, i, rest) {
  sub(/[ \t]*#.*/, "", line)
  if (line !~ /^deb(-src)?[ \t]/) return
  sub(/^deb(-src)?[ \t]+/, "", line)
  options = ""
  if (match(line, /^\[[^]]*\][ \t]*/)) {
    options = substr(line, 2, index(line, "]") - 2)
    line = substr(line, RLENGTH + 1)
  }
  n = split(line, w, /[ \t]+/)
  rest = ""
  for (i = 3; i <= n; i++) rest = rest " " w[i]
  if (n < 3 || !main_suite(w[2]) || !has_main(rest)) return
  n = split(options, o, /[ \t]+/)
  options = trusted ? " trusted=yes" : ""
  for (i = 1; i <= n; i++) if (o[i] != "" && o[i] !~ /^arch[-+]?=/ && o[i] !~ /^trusted=/) options = options " " o[i]
  printf "deb-src %s%s %s main\n", options == "" ? "" : "[" options " ] ", w[1], release
}

BEGIN { enabled = 1 }
format == "oneline" { take_line($0); next }
/^#/ { next }
/^[ \t]*$/ { flush_stanza(); next }
/^[ \t]/ { take_continuation(); next }
{ take_field() }
END { if (format != "oneline") flush_stanza() }
