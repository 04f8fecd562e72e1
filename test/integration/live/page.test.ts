/** Tests the live page in a real browser, with figures of a simulated run. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it, type TestContext } from 'node:test';
import type { Browser } from 'playwright-core';
import type { LiveFigures } from '../../../plugin/live/live-figures.ts';
import { LiveView } from '../../../plugin/live/live-server.ts';
import { launchBrowser, openPage } from '../../helpers/browser.ts';
import { noChromium } from '../../helpers/chromium.ts';
import { HOSTILE_REQUESTS, sendRequests } from '../../helpers/hostile.ts';
import { liveFigures } from '../../helpers/live-figures.ts';
import { tempFolder } from '../../helpers/temp-folder.ts';

/** Reader of live figures. The test sets the number of connections. */
class FakeReader {
  connections = 0;
  closed = 0;
  changes: Partial<LiveFigures> = {};
  async read() {
    return liveFigures(this.connections, this.changes);
  }
  close() {
    this.closed++;
  }
}

async function openView(t: TestContext) {
  const reader = new FakeReader();
  const view = await LiveView.open({ port: 0, reader, intervalMs: 50 });
  t.after(() => view.close());
  return { reader, view };
}

async function fetchAs(url: string, host?: string): Promise<{ status: number; body: string }> {
  const request = get(url, { headers: host === undefined ? {} : { host } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

describe('the live server', () => {
  it('the live server listens on loopback, and serves the metrics', async (t) => {
    const { view } = await openView(t);
    assert.match(view.url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
    const { status, body } = await fetchAs(`${view.url}metrics`);
    assert.equal(status, 200);
    assert.match(body, /^socketio_capacity_connections\{/m);
  });

  it('the live server refuses requests with another host name', async (t) => {
    const { view } = await openView(t);
    const { port } = new URL(view.url);
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', `127.0.0.1.evil.example:${port}`]) {
      for (const path of ['', 'metrics', 'events']) {
        assert.deepEqual(await fetchAs(view.url + path, host), { status: 421, body: '' }, `${host} /${path}`);
      }
    }
    assert.equal((await fetchAs(`${view.url}metrics`, `localhost:${port}`)).status, 200);
  });

  it('the live server serves only known paths, and no report before the end', async (t) => {
    const { view } = await openView(t);
    for (const path of ['report.html', '../server.ts', '%2e%2e/server.ts', 'page/page.js', '__proto__']) {
      assert.equal((await fetchAs(view.url + path)).status, 404, path);
    }
  });

  it('the live server keeps serving after any request, and after metrics that could not be read', async (t) => {
    const { reader, view } = await openView(t);
    reader.read = async () => {
      throw new Error('the run is just closing');
    };
    const answers = await sendRequests(Number(new URL(view.url).port), HOSTILE_REQUESTS);
    assert.ok(!answers.some((line) => line.includes(' 5')), answers.join('\n'));
    assert.equal((await fetchAs(`${view.url}metrics`)).status, 200);
  });

  it('the live server answers only the first of several pipelined requests', async (t) => {
    const { view } = await openView(t);
    const { host, port } = new URL(view.url);
    for (const path of ['metrics', 'charts.js', 'events']) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
      socket.write(`GET /${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(500));
      const answers = await text(socket).catch(() => '');
      assert.ok(answers.split('HTTP/1.1').length <= 2, `${path}: ${answers.length} bytes`);
    }
  });

  it('the live server reports a port that is in use', async (t) => {
    const { view } = await openView(t);
    const port = Number(new URL(view.url).port);
    const reader = new FakeReader();
    const expected = { code: 'PORT_UNAVAILABLE', message: new RegExp(String(port)) };
    await assert.rejects(LiveView.open({ port, reader }), expected);
    assert.equal(reader.closed, 1);
  });

  it('the live server ends at once if no page is open, and can be closed twice', async (t) => {
    const { view, reader } = await openView(t);
    await view.finish('/nowhere/report.html');
    assert.equal(reader.closed, 1);
    await view.close();
    await assert.rejects(fetchAs(view.url));
  });
});

describe('the live page', { skip: noChromium }, () => {
  let browser: Browser | undefined;
  after(() => browser?.close());

  async function open(t: TestContext, url: string, colorScheme: 'light' | 'dark' = 'light') {
    browser ??= await launchBrowser();
    // Waits only for `load`, because the event stream never ends.
    return openPage(t, browser, url, url, { colorScheme }, 'load');
  }

  it('the live page shows new connections, and becomes the report, which stays after the server has closed', async (t) => {
    const folder = tempFolder(t);
    const report = join(folder, 'report.html');
    writeFileSync(report, '<!doctype html><title>Report</title><link rel="icon" href="data:,"><h1>5,000 held</h1>');
    const { view, reader } = await openView(t);
    const { page, complaints } = await open(t, view.url);
    for (const connections of [0, 500, 2500, 5000]) {
      reader.connections = connections;
      await page.locator('#connected', { hasText: connections.toLocaleString('en-US') }).waitFor();
    }
    assert.equal(await page.locator('#stage').textContent(), 'ramp');
    assert.equal(await page.locator('#received').textContent(), '9,999');
    assert.deepEqual(await page.locator('#layers td').allTextContents(), [
      ...['Workers', '200.0', '171.5', '50.0'],
      ...['nginx', '30.0', '–', '12.5'],
    ]);
    assert.equal(await page.locator('#hosts-section').isVisible(), false, 'one host');
    for (const chart of ['connections', 'memory', 'loops']) {
      await page.locator(`#${chart}-chart svg path[stroke="#0072b2"]`).first().waitFor({ state: 'attached' });
    }
    const loaded = page.waitForURL('**/report.html');
    await view.finish(report);
    await loaded;
    await assert.rejects(fetchAs(view.url), 'the server has closed');
    assert.equal(await page.locator('h1').textContent(), '5,000 held');
    assert.deepEqual(complaints, []);
  });

  it('the live page shows the whole time series of the run when it is opened late', async (t) => {
    const { view, reader } = await openView(t);
    const early = await open(t, view.url);
    reader.connections = 700;
    await early.page.locator('#connected', { hasText: '700' }).waitFor();
    const late = await open(t, view.url, 'dark');
    await late.page.locator('#connected', { hasText: '700' }).waitFor();
    assert.ok(((await late.page.evaluate('points.length')) as number) > 1);
    assert.deepEqual(late.complaints, []);
  });

  it('the live page shows the slowest host, a lost host, and failures by cause, and escapes text of the run', async (t) => {
    const { view, reader } = await openView(t);
    const evil = '<img src=x onerror=alert(1)>';
    const host = { lost: null, connections: 1500, loopLateMs: 2, clockBoundMs: 0.214 };
    const failures = { ECONNREFUSED: 1, http_503: 1200 };
    reader.changes = {
      ...{ scenario: evil, stage: evil, generator: { utilization: { [evil]: 0 }, delayP99Ms: { [evil]: 0 } } },
      connections: { now: 28, target: 60, failures, lost: { 'transport close': 3 }, achievedRatePerSec: 0 },
      ...{ delivery: { broadcasts: 0, expected: null, received: null }, latency: { sentinelMs: null } },
      hosts: [
        { ...host, name: 'load-0' },
        { ...host, name: 'load-1', loopLateMs: 31, clockBoundMs: null },
        { ...host, name: 'load-2', lost: 'its connection ended', connections: 0, loopLateMs: 0 },
      ],
    };
    const { page, complaints } = await open(t, view.url);
    await page.locator('h1', { hasText: evil }).waitFor();
    await page.locator('#loops', { hasText: evil }).waitFor();
    assert.equal(await page.locator('img').count(), 0);
    assert.deepEqual(await page.locator('#hosts td').allTextContents(), [
      ...['load-0', '1,500', '2', '0.21'],
      ...['load-1', '1,500', 'slowest: 31', '–'],
      ...['load-2 (lost)', '0', '0', '0.21'],
    ]);
    const expected = {
      ...{ failed: '1,201', failures: 'http_503 1,200, ECONNREFUSED 1', lost: '3', losses: 'transport close 3' },
      expected: '',
    };
    for (const [id, text] of Object.entries(expected)) assert.equal(await page.locator(`#${id}`).textContent(), text);
    assert.deepEqual(complaints, []);
  });

  it('the live page shows that the run has ended if there is no report', async (t) => {
    const { view } = await openView(t);
    const { page } = await open(t, view.url);
    await page.locator('#stage', { hasText: 'ramp' }).waitFor();
    await view.finish(undefined);
    await page.locator('#stage', { hasText: 'ended without a report' }).waitFor();
  });
});
