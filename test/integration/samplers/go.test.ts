/** Tests the memory of Go servers through pprof. An HTTP server simulates pprof. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { findPprof, GoServer } from '../../../plugin/samplers/inspector/go.ts';
import { Inspectors } from '../../../plugin/samplers/inspector/inspectors.ts';
import { urlOf } from '../../helpers/raw-listen.ts';

const RECORDED = readFileSync(new URL('../../fixtures/go-heap-profile.txt', import.meta.url), 'utf8');
const TIMES = 256;

/** A simulated Go process. Garbage is part of its heap until a collection. */
class GoProcess {
  live = 1000;
  garbage = 500;
  stacks = 300;
  collections = 0;
  readonly #startedAt: number;

  constructor(startedAt = 1000) {
    this.#startedAt = startedAt;
  }

  /** @returns its heap profile as text */
  profile(): string {
    const ends = Array(TIMES).fill(0);
    const last = Math.max(0, this.collections - TIMES);
    for (let one = last + 1; one <= this.collections; one++) ends[(one + TIMES - 1) % TIMES] = this.#startedAt + one;
    const figures = {
      HeapAlloc: this.live + this.garbage,
      Stack: `${this.stacks} / ${this.stacks}`,
      NumGC: this.collections,
      LastGC: this.collections === 0 ? 0 : this.#startedAt + this.collections,
      PauseEnd: `[${ends.join(' ')}]`,
      PauseNs: `[${Array(TIMES).fill(2e6).join(' ')}]`,
    };
    return Object.entries(figures).reduce(
      (text, [name, value]) => text.replace(new RegExp(`(?<=^# ${name} = ).*$`, 'm'), `${value}`),
      RECORDED,
    );
  }

  readonly answer: RequestListener = ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://server');
    if (searchParams.get('gc') === '1') {
      this.garbage = 0;
      this.collections++;
    }
    if (pathname !== '/debug/pprof/heap' || searchParams.get('debug') !== '1') response.statusCode = 404;
    response.end(this.profile());
  };
}

async function pprof(t: TestContext, answer: RequestListener): Promise<string> {
  return `${await urlOf(t, createServer(answer))}/debug/pprof`;
}

async function inspect(t: TestContext, ...urls: string[]): Promise<Inspectors> {
  const inspectors = await Inspectors.connect({ urls });
  t.after(() => inspectors.close());
  return inspectors;
}

describe('the memory of a Go server', () => {
  it('the memory of a Go server is its heap and stacks, without garbage after a collection', async (t) => {
    const go = new GoProcess();
    const inspectors = await inspect(t, await pprof(t, go.answer));
    assert.equal((await inspectors.memory())[0]?.keptBytes, 1800);
    await inspectors.gc();
    const [memory] = await inspectors.memory();
    assert.deepEqual(memory, { heapUsedBytes: 1000, keptBytes: 1300, pauseMs: 2 });
    assert.deepEqual([inspectors.runtime, inspectors.longestPauseMs, go.collections], ['go', 2, 2]);
    assert.equal((await inspectors.stats())[0]?.collections, 1);
    await assert.rejects(inspectors.startProfiles('heap'), /cannot be profiled/);
  });

  it('finds the heap profile of a Go server on one of the ports of the process', async (t) => {
    await urlOf(
      t,
      createServer((_, response) => response.end('ok')),
    );
    const url = await pprof(t, new GoProcess().answer);
    assert.equal(await findPprof(process.pid), url);
  });

  it('reads the heap of a Go server after many collections, and with a login and a query in the URL', async (t) => {
    const go = new GoProcess();
    const login = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
    const url = await pprof(t, (request, response) => {
      const isLoggedIn = request.headers.authorization === login && request.url?.includes('key=7');
      if (isLoggedIn) go.answer(request, response);
      else response.writeHead(401).end();
    });
    const inspectors = await inspect(t, `${url.replace('//', '//ada:secret@')}/heap/?key=7`);
    go.collections += 3 * TIMES;
    await inspectors.gc();
    assert.equal((await inspectors.memory())[0]?.keptBytes, 1300);
  });

  it('reports memory of a Go server as uncollected if it ignores the request for a collection', async (t) => {
    const go = new GoProcess();
    const url = await pprof(t, (request, response) => {
      request.url = request.url?.replace('gc=1', 'gc=0');
      go.answer(request, response);
    });
    const inspectors = await inspect(t, url);
    await inspectors.gc();
    assert.equal((await inspectors.stats())[0]?.collections, 0);
  });

  it('rejects the heap profile of a Go server if several processes reply alternately', async (t) => {
    const all = [new GoProcess(1000), new GoProcess(2000)];
    for (const one of all) one.collections = 1;
    let requests = 0;
    const url = await pprof(t, (request, response) => all[requests++ % 2]?.answer(request, response));
    await assert.rejects(inspect(t, url), { code: 'SOURCE_UNREACHABLE', message: /another Go process answers/ });
  });

  const REFUSED: [what: string, answer: RequestListener, reason: RegExp][] = [
    ['a status 404', (_, response) => response.writeHead(404).end(), /HTTP 404/],
    ['a redirect', (_, response) => response.writeHead(302, { location: '/login' }).end(), /HTTP 302/],
    ['a response that is not a heap profile', (_, response) => response.end('[]'), /not the text of a heap profile/],
    ['a connection closed without a response', ({ socket }) => socket.destroy(), /no heap profile of Go at http:/],
    ['a response that breaks off', (_, response) => breakOff(response), /no heap profile of Go at http:/],
    ['an endless response', (_, response) => writeOn(response), /more than 32 MB/],
  ];
  for (const [what, answer, reason] of REFUSED) {
    it(`the run reports that the heap of a Go server is unreadable after ${what}`, async (t) => {
      const url = await pprof(t, answer);
      await assert.rejects(inspect(t, url), { code: 'SOURCE_UNREACHABLE', message: reason });
    });
  }

  it('the run reports that the heap of a Go server is unreadable if its response is too slow', async (t) => {
    const url = await pprof(t, (_, response) => response.write('heap profile: '));
    const reading = new GoServer(new URL(url), 50).read(false);
    await assert.rejects(reading, { code: 'SOURCE_UNREACHABLE', message: /no complete answer within 0.05 s/ });
  });

  it('the heap of a Go server is no longer read when the run ends', async (t) => {
    const go = new GoProcess();
    const server = createServer((request, response) => {
      if (request.url?.includes('gc=1')) server.emit('collecting');
      else go.answer(request, response);
    });
    const inspectors = await inspect(t, `${await urlOf(t, server)}/debug/pprof`);
    const collecting = once(server, 'collecting');
    const reading = inspectors.gc();
    await collecting;
    await inspectors.close();
    await reading;
    assert.equal((await inspectors.stats())[0]?.collections, 0);
  });
});

type Response = Parameters<RequestListener>[1];

function breakOff(response: Response): void {
  response.writeHead(200, { 'content-length': RECORDED.length });
  response.write(RECORDED.slice(0, 1000), () => response.destroy());
}

/** Writes until the client closes. */
function writeOn(response: Response): void {
  const chunk = Buffer.alloc(1024 ** 2, 'x');
  const next = () => {
    if (!response.destroyed) response.write(chunk, next);
  };
  next();
}
