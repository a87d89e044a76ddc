// What the effect of a revision is measured by: failed calls of tools by step, the steps in which the agent worked on its
// own policy, and a way to the steps of one activation.
export const effects = `
  ALTER TABLE step_rollup ADD COLUMN tool_errors INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE step_rollup ADD COLUMN policy_work INTEGER NOT NULL DEFAULT 0;

  UPDATE step_rollup SET tool_errors = failed.count FROM (
    SELECT task, turn, step, count(*) AS count FROM events
    WHERE kind = 'tool.finished' AND run IS NOT 'check' AND data ->> 'outcome' = 'error' GROUP BY task, turn, step) AS failed
  WHERE (step_rollup.task, step_rollup.turn, step_rollup.step) = (failed.task, failed.turn, failed.step);

  UPDATE step_rollup SET policy_work = 1 FROM (
    SELECT DISTINCT task, turn, step FROM events WHERE run IS NOT 'check' AND (
      kind = 'tool.called' AND instr(data ->> 'arguments', '/policy') > 0
      OR kind = 'tool.finished' AND EXISTS (
        SELECT 1 FROM json_each(events.data, '$.operations') WHERE substr(json_each.value, 1, 7) = 'policy.'))) AS work
  WHERE (step_rollup.task, step_rollup.turn, step_rollup.step) = (work.task, work.turn, work.step);

  CREATE INDEX step_rollup_activation ON step_rollup (agent, activation, at);
  CREATE INDEX step_rollup_policy_work ON step_rollup (agent, at) WHERE policy_work = 1;
`
