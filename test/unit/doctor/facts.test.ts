import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLoad } from '../../../plugin/doctor/load.ts';
import { readMachine } from '../../../plugin/doctor/machine.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';

describe('load', () => {
  const ramp = { duration: 10, arrivalRate: 100, rampTo: 100 };
  const hold = [{ connect: true }, { hold: true }];
  const loadOf = (config: object, flow: unknown[] = hold) => {
    const script = {
      config: { target: 'http://localhost:8080', phases: [ramp], ...config },
      scenarios: [{ engine: 'socketio-capacity', flow }],
    };
    return readLoad(readSettings(script, STEPS, {}));
  };

  it('is all arrivals of a flow that holds, and those at once of one that leaves', () => {
    assert.equal(loadOf({}).connections, 1000);
    const soak = [{ duration: 3600, arrivalRate: 100 }];
    assert.equal(loadOf({ phases: soak }, [{ think: 5 }]).connections, 1500);
  });

  it('is no more than maxVusers lets in', () => {
    const phases = [{ duration: 4000, arrivalRate: 500, maxVusers: 50 }];
    assert.equal(loadOf({ phases }).connections, 50);
    // A later phase lets in more; one without a limit, all of its own.
    assert.equal(loadOf({ phases: [...phases, { pause: 1 }, { ...ramp, maxVusers: 80 }] }).connections, 80);
    assert.equal(loadOf({ phases: [...phases, ramp] }).connections, 1050);
    assert.equal(loadOf({ phases: [ramp, ...phases] }).connections, 1000);
  });

  it('knows the TCP connections that each connection holds, and those that it leaves behind', () => {
    const socketsOf = (options: object) => {
      const { sockets, socketsLeft } = loadOf({ engines: { 'socketio-capacity': options } });
      return [sockets, socketsLeft];
    };
    assert.deepEqual(socketsOf({}), [1, 0]);
    assert.deepEqual(socketsOf({ transports: ['polling', 'websocket'] }), [1, 2]);
    assert.deepEqual(socketsOf({ transports: ['polling'] }), [2, 0]);
    // Its requests ask the server to end their connections.
    assert.deepEqual(socketsOf({ transports: ['polling', 'websocket'], client: 'official' }), [1, 0]);
  });

  it('knows the client and where it connects from and to', () => {
    const { client, local, localAddresses } = loadOf({ engines: { 'socketio-capacity': { client: 'official' } } });
    assert.deepEqual({ client, local, localAddresses }, { client: 'official', local: true, localAddresses: [] });
    const engines = { 'socketio-capacity': { localAddresses: ['10.0.0.1'] } };
    const far = loadOf({ target: 'http://10.0.0.9', engines });
    assert.deepEqual([far.client, far.local, far.localAddresses], ['light', false, ['10.0.0.1']]);
  });
});

it('reads the machine', async () => {
  const machine = await readMachine();
  assert.ok(machine.openFiles.hard >= 256 && machine.cores >= 1 && machine.memoryAvailableBytes > 0);
  const { first, last } = machine.ephemeralPorts;
  assert.ok(first < last && last <= 65_535);
  if (process.platform !== 'linux') return;
  assert.equal(machine.manyLoopbackAddresses, true);
  for (const value of [machine.systemFiles.max, machine.somaxconn, machine.tcpMemoryBytes]) {
    assert.ok(Number.isFinite(value) && value > 0, String(value));
  }
});
