/** CPU figures without an interval say why. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { cpu } from '../../../report/console/tables.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { cpuCells } from '../../../report/text/cpu-cells.ts';
import { perfectResult } from '../../helpers/results.ts';

const NOTE = /µs per message have no interval: it takes 5 broadcasts or more\./;

/** @param interval of the workers' figure; the other layers have none at all */
function withBroadcasts(broadcasts: number, interval: { low95: number; high95: number } | null): Result {
  const result = perfectResult();
  const { worker } = result.cpu;
  assert.ok(worker && result.delivery);
  const others = {
    rampSecondsPerThousandConnects: null,
    idlePercent: null,
    idleConnectionsPercent: null,
    clientMicrosecondsPerMessage: null,
  };
  worker.intervals = { ...others, broadcastMicrosecondsPerMessage: interval };
  result.cpu = { worker };
  result.delivery.broadcasts = broadcasts;
  return result;
}

it('the CPU per message has its interval beside it', () => {
  const [[, cells] = []] = cpuCells(withBroadcasts(12, { low95: 11, high95: 11.8 }));
  assert.equal(cells?.at(-1), '11.4 ± 0.4');
});

it('every report says that few broadcasts give no interval, and only then', () => {
  const consoleNotes = (result: Result) => cpu(result)?.notes?.join() ?? '';
  for (const render of [consoleNotes, renderHtml, renderMarkdown]) {
    assert.match(render(withBroadcasts(4, null)), NOTE);
    assert.doesNotMatch(render(withBroadcasts(5, null)), NOTE, 'a result of an older version');
    assert.doesNotMatch(render(withBroadcasts(4, { low95: 11, high95: 11.8 })), NOTE);
  }
});
