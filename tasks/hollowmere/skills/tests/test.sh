#!/bin/sh
# The reward is the share of the goal reached, 0 to 1. The kernel takes the world's save after the run, out of the agent's
# reach, and puts it here: {"measure":{"value":84,"unit":"xp","goal":600,...},...}. No measure: an error, not a reward of 0.
set -eu
save="${TESTS_DIR:-/tests}/world.json"
logs="${LOGS_DIR:-/logs/verifier}"

if [ ! -r "$save" ]; then
  echo "$save is missing: the world was not measured" >&2
  exit 1
fi
# Anchored at the start of the text: words that the agent made the world say come later and are never read.
measure=$(sed -n '1s/^{"measure":{"value":\([0-9][0-9]*\),"unit":"xp","goal":\([1-9][0-9]*\),.*/\1 \2/p' "$save")
if [ -z "$measure" ]; then
  echo "$save does not begin with a measure in xp" >&2
  exit 1
fi
value=${measure% *}
goal=${measure#* }
awk -v value="$value" -v goal="$goal" 'BEGIN {
  share = value / goal
  print (share >= 1) ? 1 : int(share * 1000) / 1000
}' >"$logs/reward.txt"
echo "reached $value of $goal xp"
