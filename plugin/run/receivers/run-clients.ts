/**
 * Creates the run's own clients: the probe, the reference receiver, the publishers, the listener that tries the
 * server's own event, the warm-up, and the checks of the doctor. They connect as virtual users, because a server may
 * refuse any other client. Each client runs the flow up to its join, or up to the step that holds the connection, with
 * a separate payload row.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { variablesOfBefore } from '../../script/handed-over.ts';
import { scriptFolder } from '../../script/options/files.ts';
import { ENGINE_NAME, engineNameOf, type Scenario, type Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { compileArrival, requestsAcknowledgement, type UserArrival } from '../../virtual-user/arrival.ts';
import { artilleryFolder } from '../../virtual-user/artillery-types.ts';

/** One of the run's own clients, before it connects. */
export interface RunClient {
  connection: ConnectionTarget;
  /** The virtual user as which the client connects; undefined for a plain connection. */
  user?: RunUser | undefined;
}

export interface RunUser {
  /** The Artillery script without the rows of its payload. */
  script: Script;
  arrival: UserArrival;
  vars: Record<string, unknown>;
  timeoutMs: number;
  roomsVariable: string | undefined;
  /** Events for which the run requests an acknowledgement, even if the flow requests none. */
  ackEvents: string[];
  artillery: string;
}

interface PayloadSpec {
  path: string;
  fields?: string[];
  data?: unknown[][];
  loadAll?: boolean;
  name?: string;
  delimiter?: string;
  cast?: boolean;
  skipHeader?: boolean;
  skipEmptyLines?: boolean;
  options?: object;
}

type ClientSettings = Pick<
  Settings,
  'connection' | 'engine' | 'engineOptions' | 'external' | 'clients' | 'delivery' | 'target' | 'tls'
> & {
  /** Further events for which the run requests an acknowledgement. */
  ackEvents?: string[];
  load?: Pick<Settings['load'], 'connections'>;
};

export class RunClients {
  /** Connection options of all clients. A virtual user may change them. */
  readonly connection: ConnectionTarget;
  readonly #settings: ClientSettings;
  readonly #script: Script;
  readonly #scenario: Scenario | undefined;
  readonly #payload: PayloadSpec[];
  #permanentCount = 0;
  #temporaryCount = 0;

  private constructor(settings: ClientSettings, script: Script, payload: PayloadSpec[]) {
    const { connection, engineOptions, target, tls, engine, external } = settings;
    const { payload: _, ...config } = script.config;
    this.#settings = settings;
    const insecure = { tls: { ...(config.tls as object | undefined), rejectUnauthorized: false } };
    this.#script = { ...script, config: { ...config, target, ...(tls && insecure) } };
    this.#payload = payload;
    if (engine === ENGINE_NAME || external) this.#scenario = scenarioOf(script, engine, settings.clients);
    const { origin: url } = new URL(target);
    // A virtual user connects with the engine options of its scenario.
    const own = this.#scenario && engineOptions ? { ...connection, ...engineOptions.connection } : connection;
    this.connection = { ...own, url };
  }

  static async open(settings: ClientSettings, script: Script, url = settings.target): Promise<RunClients> {
    return new RunClients({ ...settings, target: url }, script, await readPayload(script));
  }

  /** Whether the clients run steps or use values of a virtual user. If not, they only connect. */
  get areUsers(): boolean {
    return this.#scenario !== undefined && !compileArrival(this.#scenario, { before: CONTRACT_EVENTS.joinRoom }).isBare;
  }

  /** Returns a client that stops before the event `join_room`; the run itself sends that event. */
  next(): RunClient {
    return this.#client({ before: CONTRACT_EVENTS.joinRoom });
  }

  /**
   * Returns a client for a short connection. If the payload has enough rows, the client's row differs from the rows of
   * the run's permanent clients and of the load.
   */
  nextTemporary(): RunClient {
    return this.#client({ before: CONTRACT_EVENTS.joinRoom }, this.#permanentCount + this.#temporaryCount++);
  }

  /** Returns a client that joins by the steps of the flow, so that it receives the user's own event. */
  nextReceiver(): RunClient {
    return this.#client({ join: this.#settings.delivery?.join });
  }

  /** Returns whether the scenarios request an acknowledgement of an event; undefined if no scenario emits the event. */
  asksFor(event: string): boolean | undefined {
    return requestsAcknowledgement(this.#script.scenarios ?? [], event);
  }

  #client(until: Parameters<typeof compileArrival>[1], index = this.#permanentCount++): RunClient {
    const { connection } = this;
    if (!this.#scenario) return { connection };
    const { engineOptions, delivery, ackEvents = [] } = this.#settings;
    const arrival = compileArrival(this.#scenario, until);
    // Plain connections do not need Artillery, which takes long to load.
    if (arrival.isBare) return { connection };
    const user = {
      script: { ...this.#script, scenarios: [] },
      arrival,
      vars: { ...variablesOfBefore(), ...this.#row(index) },
      timeoutMs: engineOptions?.timeoutMs ?? 10_000,
      roomsVariable: engineOptions?.roomsVariable,
      ackEvents: [CONTRACT_EVENTS.joinRoom, ...ackEvents, ...(delivery?.join === undefined ? [] : [delivery.join])],
      artillery: artilleryFolder(),
    };
    return { connection, user };
  }

  /**
   * Returns a row of the payload, counted from the last row, because a load that takes the rows in order begins at the
   * first row.
   */
  #row(index: number): Record<string, unknown> {
    const entries = this.#payload.flatMap(({ fields = [], data = [], loadAll, name = '' }) => {
      const named = (row: unknown[] = []) => fields.map((field, column) => [field, row[column]]);
      if (loadAll) return [[name, fields.length > 0 ? data.map((row) => Object.fromEntries(named(row))) : data]];
      const reserved = this.#permanentCount;
      const left = data.length - reserved;
      const [free = 0] = [left - (this.#settings.load?.connections ?? 0), left].filter((rows) => rows > 0);
      const isTemporary = index >= reserved && free > 0;
      const fromEnd = isTemporary ? reserved + ((index - reserved) % free) : index % Math.max(1, data.length);
      return named(data.at(-1 - fromEnd));
    });
    return Object.fromEntries(entries);
  }
}

/**
 * Returns the scenario that the option `clients` names. Without the option, returns the first scenario whose weight is
 * not 0.
 */
function scenarioOf(script: Script, engine: string, name: string | undefined): Scenario | undefined {
  const scenarios = (script.scenarios ?? []).filter((scenario) => engineNameOf(scenario, script) === engine);
  if (name !== undefined) return scenarios.find((scenario) => scenario.name === name);
  return scenarios.find(({ weight }) => Number(weight ?? 1) !== 0) ?? scenarios[0];
}

/** Reads the rows of the payload, unless Artillery has already put them into the script. */
async function readPayload({ config, ...script }: Script): Promise<PayloadSpec[]> {
  const specs = [config.payload ?? []].flat() as PayloadSpec[];
  return Promise.all(
    specs.map(async (spec) => {
      if (spec.data) return spec;
      const { delimiter = ',', cast = true, skipHeader, skipEmptyLines = true, options } = spec;
      const parse = promisify(createRequire(join(artilleryFolder(), 'package.json'))('csv-parse'));
      const path = resolve(scriptFolder({ config, ...script }), spec.path);
      const read = { skip_empty_lines: skipEmptyLines, cast, from_line: skipHeader ? 2 : 1, delimiter, ...options };
      try {
        return { ...spec, data: (await parse(readFileSync(path, 'utf8'), read)) as unknown[][] };
      } catch (cause) {
        const fix = 'correct config.payload, or that file';
        throw new CapacityError('FILE_UNREADABLE', `the payload ${path} cannot be read`, fix, { cause });
      }
    }),
  );
}
