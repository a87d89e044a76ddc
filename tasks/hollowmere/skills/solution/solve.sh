#!/bin/sh
# Plays to the goal with the world command alone, reading nothing but what it prints. A refused action ends it: the oracle
# never tries what the rules forbid.
set -eu

# act ACTION [NAME]: one action; the status line of its answer stays in $status.
act() {
  answer=$(world "$@")
  status=${answer##*"
"}
}
# have NAME, full NAME: the two numbers of "NAME have/full" in the status line, left in $n.
have() {
  n=${status#*" $1 "}
  n=${n%%/*}
}
full() {
  n=${status#*" $1 "}
  n=${n#*/}
  n=${n%%[; ]*}
}

map=$(world map)
camp=${map#Camp is }
camp=${camp%%.*}

# train SKILL RESOURCE PLACE TOOL, from camp to camp
train() {
  skill=$1 resource=$2 site=$3 tool=$4
  # "camp - via - site (resource)" or "camp - site (resource)": via is empty where there is none.
  route=${map%%" ($resource)"*}
  route=${route##*"$camp - "}
  via=${route%"$site"}
  via=${via%" - "}
  full bag && bag=$n
  full "$skill" && mastery=$n
  have "$skill"
  while [ "$n" -lt "$mastery" ]; do
    have "$tool"
    if [ "$n" -le "$bag" ]; then act repair "$tool"; fi
    for stop in $via "$site"; do act go "$stop"; done
    have stamina && now=$n
    cost=0
    while [ "$now" -ge "$cost" ]; do
      have bag && [ "$n" -lt "$bag" ] || break
      have "$tool" && [ "$n" -gt 0 ] || break
      have "$skill" && [ "$n" -lt "$mastery" ] || break
      before=$now
      act gather "$resource"
      have stamina && now=$n
      cost=$((before - now))
    done
    for stop in $via "$camp"; do act go "$stop"; done
    have bag
    if [ "$n" -gt 0 ]; then act unload; fi
    act rest
    have "$skill"
  done
}

act look
jobs=$(world skills)
while read -r skill _ _ _ _ _ resource _ site _ _ tool; do
  if [ "$skill" != total ]; then train "$skill" "$resource" "$site" "$tool"; fi
done <<EOF
$jobs
EOF
world skills
