#!/bin/sh
# Verifies the schedules below $DIRECTORY with the program $ORACCL: files of MSCCL-IR, whose
# findings become annotations of their lines, and JSON files whose names match one of the
# patterns $JSON, whose violations become annotations of the files. Ends with status 1 if
# something is refuted, 2 if something cannot be read, 3 if something remains unknown.
set -eu
: "${ORACCL:=oraccl}" "${DIRECTORY:=.}" "${FAIL_ON:=error}" "${JSON:=}"
worst=0
found=0
worse() { # status
	case $worst,$1 in
	*,0) ;;
	0,* | 3,* | *,2) worst=$1 ;;
	esac
}
escaped() { sed -e 's/%/%25/g' -e 's/\r/%0D/g' | awk 'NR > 1 { printf "%%0A" } { printf "%s", $0 }'; }
property() { printf '%s' "$1" | sed -e 's/%/%25/g' -e 's/:/%3A/g' -e 's/,/%2C/g'; }

if [ -n "$(find "$DIRECTORY" -type f -name '*.xml' | head -n 1)" ]; then
	found=1
	status=0
	"$ORACCL" verify "$DIRECTORY" --format github --fail-on "$FAIL_ON" || status=$?
	worse $status
fi
list=$(mktemp)
trap 'rm -f "$list"' EXIT
set -f # patterns are find's to match
for pattern in $JSON; do
	find "$DIRECTORY" -type f -name "$pattern" >>"$list"
done
set +f
sort -u -o "$list" "$list"
while IFS= read -r file; do
	found=1
	status=0
	text=$("$ORACCL" verify "$file" 2>&1) || status=$?
	worse $status
	case $status in
	0) printf '%s\n' "$text" ;;
	*) printf '::error file=%s::%s\n' "$(property "$file")" "$(printf '%s\n' "$text" | escaped)" ;;
	esac
done <"$list"
if [ $found = 0 ]; then
	printf '::error::%s\n' "no schedules below $(printf '%s' "$DIRECTORY" | escaped)"
	worse 2
fi
exit $worst
