# SPDX-License-Identifier: MIT
#
# Reads ctest's JUnit file; prints each skipped test with its reason, then, as the last line, "N
# passed, N failed, N skipped". Status 1 if any failed.
#
# ctest says "notrun" both for a test that skipped itself and for one whose program does not exist:
# the latter counts as failed.

function attribute(name,    value) {
  value = $0
  if (!sub(".* " name "=\"", "", value)) return ""
  sub(/".*/, "", value)
  return value
}

/<testcase / {
  name = attribute("name")
  status = attribute("status")
  reason = ""
  skipped = 0
}
/<skipped / {
  reason = attribute("message")
  skipped = reason !~ /Unable to find|NOT_AVAILABLE|Required Files Missing|Fixture/
}
skipped && /SKIP: / { reason = $0; sub(/.*SKIP: /, "", reason); sub(/<\/system-out>.*/, "", reason) }
skipped && /: Skipped$/ { getline reason } # GoogleTest: the reason is on the next line
/<\/testcase>/ {
  if (status == "run") passed++
  else if (skipped || status == "disabled") {
    nskipped++
    print "SKIPPED " name ": " (reason == "" ? status : reason)
  } else failed++
}
END {
  printf "%d passed, %d failed, %d skipped\n", passed, failed, nskipped
  exit failed > 0
}
