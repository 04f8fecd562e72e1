import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readDoctorMachine } from '../../../plugin/doctor/check-machine.ts';
import { readDoctorLoad } from '../../../plugin/doctor/situation.ts';
import { readSettings } from '../../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../../plugin/virtual-user/steps/index.ts';

describe('load', () => {
  const ramp = { duration: 10, arrivalRate: 100, rampTo: 100 };
  const loadOf = (config: object) => {
    const script = {
      config: { target: 'http://localhost:8080', phases: [ramp], ...config },
      scenarios: [{ engine: 'socketio-capacity', flow: [{ connect: true }, { hold: true }] }],
    };
    return readDoctorLoad(readSettings(script, STEP_KINDS, {}));
  };

  it('the doctor counts at most `maxVusers` connections of a phase', () => {
    const limited = { duration: 4000, arrivalRate: 500, maxVusers: 50 };
    for (const [connections, ...phases] of [
      [50, limited],
      // A later phase with a higher limit adds users. A phase without a limit adds all of its arrivals.
      [80, limited, { pause: 1 }, { ...ramp, maxVusers: 80 }],
      [1050, limited, ramp],
      [1000, ramp, limited],
    ]) {
      assert.equal(loadOf({ phases }).connections, connections);
    }
  });

  const optionsOf = (options: object, config: object = {}) =>
    loadOf({ ...config, engines: { 'socketio-capacity': options } });

  it('the doctor counts TCP connections per Socket.IO connection, and source ports left in TIME_WAIT', () => {
    const bothTransports = { transports: ['polling', 'websocket'] };
    for (const [options, sockets, socketsLeft] of [
      [{}, 1, 0],
      [bothTransports, 1, 2],
      [{ transports: ['polling'] }, 2, 0],
      // The official client's requests ask the server to close their connections, so no port stays on the client.
      [{ ...bothTransports, client: 'official' }, 1, 0],
    ] as const) {
      assert.partialDeepStrictEqual(optionsOf(options), { sockets, socketsLeft });
    }
  });

  it('the doctor reads from a scenario the client, source addresses, and whether the target is local', () => {
    const official = { client: 'official', local: true, localAddresses: [] };
    assert.partialDeepStrictEqual(optionsOf({ client: 'official' }), official);
    const localAddresses = ['10.0.0.1'];
    const remoteLoad = optionsOf({ localAddresses }, { target: 'http://10.0.0.9' });
    assert.partialDeepStrictEqual(remoteLoad, { client: 'light', local: false, localAddresses });
  });
});

it('the doctor detects this machine’s open-file limit, CPU cores, free memory and ephemeral ports', async () => {
  const { openFiles, cores, memoryAvailableBytes, ephemeralPorts, ...machine } = await readDoctorMachine();
  assert.ok(openFiles.hard >= 256 && cores >= 1 && memoryAvailableBytes > 0);
  assert.ok(ephemeralPorts.first < ephemeralPorts.last && ephemeralPorts.last <= 65_535);
  if (process.platform !== 'linux') return;
  assert.equal(machine.manyLoopbackAddresses, true);
  for (const value of [machine.systemFiles.max, machine.somaxconn, machine.tcpMemoryBytes])
    assert.ok(Number.isFinite(value) && value > 0, String(value));
});
