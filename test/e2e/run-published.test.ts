/** A run whose metrics Artillery's plugin publish-metrics passes on: to a Pushgateway, by OpenTelemetry and by StatsD. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { goodResult, quickScript, startRun } from '../helpers/run.ts';

it('publish-metrics receives the metrics of the run, once', async (t) => {
  const received: Record<string, string> = { '/pushgateway': '', '/otlp': '', statsd: '' };
  const http = createServer(async (request, response) => {
    const path = Object.keys(received).find((known) => request.url?.startsWith(known)) ?? '';
    received[path] += await text(request);
    response.end('{}');
  });
  http.listen(0, '127.0.0.1');
  const udp = createSocket('udp4', (message) => (received.statsd += `${message}\n`));
  udp.bind(0, '127.0.0.1');
  t.after(() => [http.close(), udp.close()]);
  await Promise.all([once(http, 'listening'), once(udp, 'listening')]);
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const quick = quickScript();
  const plugins = {
    // Before ours, so that it hears Artillery's events first.
    'publish-metrics': [
      { type: 'prometheus', pushgateway: `${url}/pushgateway` },
      { type: 'open-telemetry', metrics: { exporter: 'otlp-http', endpoint: `${url}/otlp` } },
      { type: 'statsd', host: '127.0.0.1', port: udp.address().port, prefix: 'artillery.' },
    ],
    ...quick.config.plugins,
  };
  const run = startRun(t, {
    script: { ...quick, config: { ...quick.config, plugins } },
    env: { PROFILE: 'embedded' },
  });
  const result = await goodResult(run);
  const { p99, max } = result.latency.oneWayMs as { p99: number | null; max: number };
  const latency = p99 ?? max;
  const lines = (received['/pushgateway'] as string).split('\n').filter((line) => line.includes('socketio_delivery_'));
  assert.ok(
    lines.some((line) => /metric="socketio_delivery_coverage"[^}]*\} 1$/.test(line)),
    lines.join('\n'),
  );
  assert.match(
    received['/pushgateway'] as string,
    RegExp(`metric="socketio_broadcast_latency_p99"[^}]*\\} ${latency}\n`),
  );
  assert.match(received['/otlp'] as string, /socketio\.delivery\.coverage/);
  assert.match(received.statsd as string, /socketio\.delivery\.expected:30\|c/);
  // Artillery's own counters, once each.
  const created = [...(received.statsd as string).matchAll(/vusers\.created:(\d+)\|c/g)].map(([, count]) =>
    Number(count),
  );
  assert.equal(
    created.reduce((sum, count) => sum + count, 0),
    10,
  );
});
