# SPDX-License-Identifier: MIT
#
# Reads ctest's JUnit file; prints the tests that took longest, the end of what each failed test
# printed, each skipped test with its reason, then, as the last line, "N passed, N failed, N
# skipped". Status 1 if any failed.
#
# ctest says "notrun" both for a test that skipped itself and for one whose program does not exist:
# the latter counts as failed.

function attribute(name,    value) {
  value = $0
  if (!sub(".* " name "=\"", "", value)) return ""
  sub(/".*/, "", value)
  return value
}

function plain(text) {
  gsub(/\t*<\/?system-out>/, "", text)
  gsub(/&lt;/, "<", text)
  gsub(/&gt;/, ">", text)
  gsub(/&quot;/, "\"", text)
  gsub(/&apos;/, "'", text)
  gsub(/&amp;/, "\\&", text)
  return text
}

function print_end_of_output(    i) {
  print "FAILED " name ":"
  for (i = nlines > 20 ? nlines - 20 : 0; i < nlines; i++) print "  " lines[i]
}

function print_longest(    i, n, longest) {
  for (n = 0; n < 20; n++) {
    longest = ""
    for (i in seconds) if (longest == "" || seconds[i] > seconds[longest]) longest = i
    if (longest == "" || seconds[longest] < 10) return
    printf "%6d s  %s\n", seconds[longest], longest
    delete seconds[longest]
  }
}

/<testcase / {
  name = attribute("name")
  status = attribute("status")
  seconds[name] = attribute("time") + 0
  reason = ""
  skipped = 0
  nlines = 0
}
/<skipped / {
  reason = attribute("message")
  skipped = reason !~ /Unable to find|NOT_AVAILABLE|Required Files Missing|Fixture/
}
/<system-out>/, /<\/system-out>/ { if (plain($0) ~ /[^\t]/) lines[nlines++] = plain($0) }
skipped && /SKIP: / { reason = $0; sub(/.*SKIP: /, "", reason); sub(/<\/system-out>.*/, "", reason) }
skipped && /: Skipped$/ { # GoogleTest: the reason is on the next line
  getline reason
}
/<\/testcase>/ {
  if (status == "run") passed++
  else if (skipped || status == "disabled")
    skips[nskipped++] = "SKIPPED " name ": " (reason == "" ? status : reason)
  else {
    failed++
    print_end_of_output()
  }
}
END {
  print_longest()
  for (i = 0; i < nskipped; i++) print skips[i]
  printf "%d passed, %d failed, %d skipped\n", passed, failed, nskipped
  exit failed > 0
}
