# SPDX-License-Identifier: MIT
# Checks each hunk of a patch (unified, -p1) against a tree.
#
#   awk -v tree=DIRECTORY -f hunks.awk PATCH
#
# Prints one line for each hunk that does not match in exactly one place:
#   FILE: hunk N, near line L (its first changed line): does not apply | matches in M places
# Status 0: all hunks apply. 1: some do not.
#
# Invariant: a hunk matches where its context and its removed lines stand, byte for byte and
# consecutively. One that matches in two places is refused, because patch would take the nearer one,
# and in a tree that has moved on that may be the wrong one.

function load(file,    path, line) {
  if (file == loaded) return
  loaded = file
  nlines = 0
  path = tree "/" file
  while ((getline line < path) > 0) text[++nlines] = line
  close(path)
}

# In how many places does the file have the lines old[1..nold]?
function places(    i, j, n) {
  for (i = 1; i + nold - 1 <= nlines; i++) {
    for (j = 1; j <= nold && text[i + j - 1] == old[j]; j++) {}
    if (j > nold) n++
  }
  return n + 0
}

function finish(    n) {
  if (!nold) return
  load(file)
  n = places()
  if (n != 1) {
    print file ": hunk " hunk ", near line " near " (" change "): " (n ? "matches in " n " places" : "does not apply")
    bad = 1
  }
  nold = 0
}

/^--- a\// { finish(); file = substr($2, 3); hunk = left = 0; next }
/^\+\+\+ b\// { next }
/^@@ / {
  finish()
  split(substr($2, 2), range, ",")
  near = range[1]
  left = range[2] == "" ? 1 : range[2]
  split(substr($3, 2), range, ",")
  added = range[2] == "" ? 1 : range[2]
  hunk++
  change = ""
  next
}
left + added > 0 {
  kind = substr($0, 1, 1)
  if (kind != "+") { old[++nold] = substr($0, 2); left-- }
  if (kind != "-") added--
  if (kind != " " && change == "") { change = substr($0, 2); sub(/^[ \t]+/, "", change) }
  if (kind != " " && change ~ /^#(ifdef|endif)/) { change = substr($0, 2); sub(/^[ \t]+/, "", change) }
}
END { finish(); exit bad }
