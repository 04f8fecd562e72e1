import assert from 'node:assert/strict';
import { it } from 'node:test';
import { momentText } from '../../../plugin/findings/checks/observed/counts-of.ts';
import { connectionLines } from '../../../report/answer/connections-line.ts';
import { perfectResult } from '../../helpers/results.ts';
import { moment, waves } from '../../helpers/waves.ts';

function lineOf(change: (result: ReturnType<typeof perfectResult>) => void): string {
  const result = perfectResult();
  change(result);
  return connectionLines(result)[0]?.text ?? '';
}

it('reports how long connections were held only if they stayed open until they were released', () => {
  const inProgress = (held: number) =>
    lineOf((result) => {
      result.connections.held = held;
      result.stages = [
        { name: 'ramp', t: 0 },
        { name: 'hold', t: 10 },
        { name: 'disconnect', t: 20 },
      ];
      result.absent.delivery = 'the run ended before the broadcasts';
    });
  assert.match(inProgress(12), /^12 of 5,000 connections held for 10 s/);
  assert.match(inProgress(0), /^0 of 5,000 connections held, at most 5,000 at the same time(?! for)/);
});

it('a report describes a moment without connections in words instead of a number', () => {
  const texts = [0, 1, 5000].map((count) => momentText({ at: 'plateau', count }));
  assert.deepEqual(texts, ['while no connection was open', 'at 1 connection', 'at 5,000 connections']);
});

it('the number of held connections includes every connection of a wave, even if it left before the reading', () => {
  const result = waves({
    peaks: [moment(10, 96, 4), moment(30, 48, 102), moment(50, 100, 150)],
    readings: [moment(20, 0, 100), moment(40, 0, 150), moment(60, 0, 250)],
  });
  assert.match(connectionLines(result)[0]?.text ?? '', /^3 waves of 50 to 100 connections/);
});
