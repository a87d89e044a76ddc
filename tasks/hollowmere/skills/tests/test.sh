#!/bin/sh
# The reward is the share of the goal reached, 0 to 1, from the measure that the kernel took of the world after the run:
# /tests/world.json {"value": 84, "unit": "xp", "goal": 600, "done": false}. Without a measure there is no reward: an error.
set -eu
measure="${TESTS_DIR:-/tests}/world.json"
logs="${LOGS_DIR:-/logs/verifier}"

number() {
  found=$(tr -d '\n' <"$measure" | sed -n "s/.*\"$1\"[[:space:]]*:[[:space:]]*\([0-9][0-9.]*\)[[:space:]]*[,}].*/\1/p")
  if [ -z "$found" ]; then
    echo "$measure has no number \"$1\"" >&2
    exit 1
  fi
  echo "$found"
}

if [ ! -r "$measure" ]; then
  echo "$measure is missing: the world was not measured" >&2
  exit 1
fi
value=$(number value)
goal=$(number goal)
awk -v value="$value" -v goal="$goal" 'BEGIN {
  if (goal <= 0) exit 1
  share = value / goal
  print (share >= 1) ? 1 : int(share * 1000) / 1000
}' >"$logs/reward.txt"
echo "reached $value of $goal"
