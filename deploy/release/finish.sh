#!/bin/sh
# Completes a folder with the files of a release: finish.sh FOLDER RELEASES
#
# Adds install.sh, which then takes programs from the address RELEASES, and SHA256SUMS, which names
# every other file of the folder.
set -eu

here="$(dirname "$0")"
: "${2:?usage: finish.sh FOLDER RELEASES}"
case "$2" in
    *[!A-Za-z0-9._/:-]*) is_address="" ;; # it becomes a part of a program
    https://?*) is_address=1 ;;
    *) is_address="" ;;
esac
[ -n "$is_address" ] || { echo "finish.sh: '$2' is no address of releases" >&2 && exit 2; }
sed "s|^RELEASES=\"\".*|RELEASES=\"$2\"|" "$here/../../install.sh" >"$1/install.sh"
cd "$1"
rm -f SHA256SUMS
for file in *; do
    [ -f "$file" ] || { echo "finish.sh: $1/$file is not a file" >&2 && exit 2; }
done
sha256sum -- * >.sums
mv .sums SHA256SUMS
