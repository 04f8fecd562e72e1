/** The run's own receivers connect like the load, wherever the scenario sets the options for it. */
import assert from 'node:assert/strict';
import type { Server } from 'socket.io';
import { startInstrumented } from '../../helpers/chat-server.ts';
import { startInProcess } from '../../helpers/in-process-run.ts';
import { PEM } from '../../helpers/pem.ts';
import { type Cases, script } from './case.ts';

const PATH = '/private/';
const FLOW = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { hold: true }];
// The address is not the name that is asked for.
const TLS = { ca: PEM.cert, servername: 'localhost' };

export const connection: Cases = {
  'connects everybody with a private certificate, a path of its own, header, query and auth': async (t) => {
    const refused: string[] = [];
    const admit = (io: Server) => {
      io.use(({ handshake: { headers, query, auth } }, next) => {
        const given = JSON.stringify([headers['x-tenant'], query.version, auth.user]);
        if (given === '["blue","2","load"]') return next();
        refused.push(given);
        next(new Error('who are you?'));
      });
    };
    const options = { path: PATH, tls: PEM };
    const { url, control } = await startInstrumented(t, admit, options);
    // Each in one of the places that a scenario can set it in.
    const config = { target: url, tls: TLS, socketio: { path: PATH, query: { version: 2 } } };
    const where = { ...config, engines: { 'socketio-capacity': { headers: { 'X-Tenant': 'blue' } } } };
    const own = script(where, { control }, {}, [{ connect: { auth: { user: 'load' } } }, ...FLOW]);
    const { result, output } = await startInProcess(own).ended;
    assert.equal(result.connections.peak, 10, output);
    assert.equal(result.delivery?.coverage, 1);
    assert.equal(result.latency.roundTripHalfMs.single?.count, 2, 'the probe is connected');
    assert.equal(result.latency.sentinelMs?.count, 3, 'the sentinel is connected');
    assert.deepEqual(refused, []);
  },

  'quotes a server that refuses some of the load, in console and result': async (t) => {
    let users = 0;
    const { url, control } = await startInstrumented(t, (io) => {
      io.use(({ handshake: { auth } }, next) => {
        const isTooMany = auth.user === 'load' && ++users === 3;
        next(isTooMany ? Object.assign(new Error('full\x1b[2J'), { data: { free: 0 } }) : undefined);
      });
    });
    // A template, so that the receivers of the run and the warm-up have no such user.
    const flow = [{ connect: { auth: { user: '{{ user }}' } } }, ...FLOW];
    const own = script({ target: url, engines: {} }, { control }, {}, flow);
    const { result, output } = await startInProcess(own, [{ user: 'load' }]).ended;
    const { connections } = result;
    assert.deepEqual(connections.failures, { namespace_refused: 1 });
    assert.deepEqual(connections.failureExamples, { namespace_refused: 'full\\u{1b}[2J {"free":0}' });
    assert.match(output, /namespace_refused: full\\u\{1b\}\[2J \{"free":0\}/);
  },
};
