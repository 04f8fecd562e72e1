/** Tests invalid replies of a worker. Each is an error of that worker, and none of its figures is used. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ControlClients } from '../../../plugin/samplers/control/control-workers.ts';
import { CONTROL_NAMESPACE } from '../../../protocol/wire/events.ts';
import { ask, connectControl, startApp, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { mutants } from '../../helpers/hostile.ts';

const ORDER = { room: 'r', bytes: 1, seq: 1 };
const REQUESTS: [request: string, args: unknown[], send: (control: ControlClients) => Promise<unknown>][] = [
  ['stats', [], async (control) => (await control.stats())[0]],
  ['resources', [], async (control) => (await control.resources())[0]],
  ['batches', [], async (control) => (await control.batches())[0]],
  ['broadcast', [ORDER], (control) => control.broadcast(ORDER, 0)],
  ['members', ['r'], (control) => control.members('r', 0)],
  ['servers', [], (control) => control.servers()],
  ['time', [], (control) => control.clock(0)],
];

/** Starts a control port that replies with the text in `answer`. */
async function startLiar(t: TestContext) {
  const { io, url } = await startChat(t, () => {}, { pingInterval: 300_000 });
  const liar = { url, answer: '' };
  io.of(CONTROL_NAMESPACE).on('connection', ({ conn }) => {
    conn.on('packet', ({ data }: { data?: unknown }) => {
      const id = /^2\/capacity,(\d+)/.exec(String(data))?.[1];
      if (id !== undefined) conn.write(`3${CONTROL_NAMESPACE},${id}[${liar.answer}]`);
    });
  });
  return liar;
}

/**
 * Returns whether the value contains a number that is negative or not finite. The offset of a clock may be negative.
 */
function isBroken(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || value < 0;
  return typeof value === 'object' && value !== null && Object.values(value).some(isBroken);
}

/** Returns the types of the properties. Null counts as a number. */
const kindsOf = (value: unknown) =>
  Object.entries(value ?? {}).map(([key, property]) => `${key} ${property === null ? 'number' : typeof property}`);

test('every answer of a control port is accepted as valid, or reported as an error with a code', {
  timeout: 60_000,
}, async (t) => {
  const app = await startApp(t);
  const worker = await connectControl(app.controlPort);
  const liar = await startLiar(t);
  const control = await ControlClients.connect([liar.url], TOKEN);
  t.after(() => control.close());
  for (const [request, args, send] of REQUESTS) {
    const value = await ask(worker, request, ...args);
    liar.answer = JSON.stringify({ ok: true, value });
    const kinds = kindsOf(await send(control));
    if (request === 'resources') {
      liar.answer = JSON.stringify({ ok: true, value: { ...(value as object), usableCores: 1e6 } });
      await assert.rejects(send(control), { code: 'VERSIONS_DIFFER' });
    }
    for (const answer of [...mutants({ ok: true, value }), ...mutants({ ok: false, code: 'X', message: 'x' })]) {
      liar.answer = answer;
      const reply = await send(control).catch(({ code }: { code?: string }) => {
        assert.ok(code !== undefined, `${request}: ${answer.slice(0, 200)}`);
      });
      if (reply === undefined) continue;
      const { offsetUs: _, ...figures } = reply as { offsetUs?: number };
      const message = `${request}: ${answer.slice(0, 2000)}`;
      assert.ok(!isBroken(typeof reply === 'number' ? reply : figures), message);
      const missing = kindsOf(reply).filter((kind) => !kinds.includes(kind));
      assert.deepEqual(missing, [], message);
    }
  }
});
