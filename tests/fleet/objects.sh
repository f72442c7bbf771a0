#!/bin/bash
# SPDX-License-Identifier: MIT
# Objects of a listing, each got by a command: their names are the paths in the profile; what cannot be
# fetched is tried again, and then left out.
source "$(dirname "$0")/lib.sh"
mkdir -p store/s3:/day
cp t?.bin store/s3:/day/
(cd store && "$analyze" -q s3://day/t?.bin --save-profile ../objects.profile 2>/dev/null)
printf 's3://day/%s\n' t1.bin t2.bin gone.bin t3.bin t4.bin t5.bin t6.bin t7.bin t8.bin t9.bin >listing
cat >get <<END
#!/bin/bash
# The store answers the second time only.
mkdir "$scratch/asked-\${1##*/}" 2>/dev/null && { echo "no answer" >&2; exit 1; }
cp "$scratch/store/\$1" "\$2"
END
chmod +x get
mkdir temporary
TMPDIR=$scratch/temporary fleet 3 -o out.profile --from listing --batch 3 --fetch "$scratch/get \"\$1\" \"\$2\""
same "messages of objects left out" "$(grep -c 'left out' err)" 1
grep -E "left out: s3://day/gone.bin: cannot be fetched: cp: .*No such file" err >/dev/null || fail "messages: $(cat err)"
equal "objects" objects.profile
same "what is left of them" "$(ls temporary)" ""

# A command that succeeds without an object, and one that does not exist.
fleet 2 -o out.profile s3://day/t1.bin --fetch true
grep -F 'left out: s3://day/t1.bin: cannot open' err >/dev/null || fail "messages: $(cat err)"
fleet 2 -o out.profile s3://day/t1.bin --fetch '/no/such/command "$1"'
grep -E 'left out: s3://day/t1.bin: cannot be fetched: .*No such file' err >/dev/null || fail "messages: $(cat err)"
fleet 1 -o out.profile ../t1.bin --fetch 'cp "$1" "$2"'
