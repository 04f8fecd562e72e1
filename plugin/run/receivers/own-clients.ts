/**
 * The run's own clients come as the scenario's virtual users do, since a server may let in nobody else: probe, reference
 * receiver, publishers, listener of the trial, warm-up, and the checks of the doctor. Each is a virtual user that plays the
 * flow up to the place where it joins, or stays, and has a row of the payload to itself.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { EVENTS } from '../../../protocol/wire/events.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { variablesOfBefore } from '../../script/handed-over.ts';
import { folderOf } from '../../script/options/files.ts';
import { ENGINE, type Scenario, type Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { type Arrival, acknowledges, arrivalOf } from '../../virtual-user/arrival.ts';
import { artilleryFolder } from '../../virtual-user/artillery-types.ts';

/** One of them, before it connects. */
export interface OwnClient {
  connection: ConnectionTarget;
  /** Undefined for a bare connection. */
  user?: OwnUser | undefined;
}

export interface OwnUser {
  /** Without its payload. */
  script: Script;
  arrival: Arrival;
  vars: Record<string, unknown>;
  timeoutMs: number;
  roomsVariable: string | undefined;
  /** Events of which an acknowledgement is asked for, whether or not the flow does. */
  asked: string[];
  /** Folder of Artillery. */
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

type Of = Pick<
  Settings,
  'connection' | 'engine' | 'engineOptions' | 'external' | 'clients' | 'delivery' | 'target' | 'tls'
> & {
  /** Further events of which an acknowledgement is asked for. */
  asked?: string[];
  load?: Pick<Settings['load'], 'connections'>;
};

export class OwnClients {
  /** To the target, before anything of a virtual user. */
  readonly connection: ConnectionTarget;
  readonly #settings: Of;
  readonly #script: Script;
  readonly #scenario: Scenario | undefined;
  readonly #payload: PayloadSpec[];
  #taken = 0;
  #passed = 0;

  private constructor(settings: Of, script: Script, payload: PayloadSpec[]) {
    const { connection, engineOptions, target, tls, engine, external } = settings;
    const { payload: _, ...config } = script.config;
    this.#settings = settings;
    const insecure = { tls: { ...(config.tls as object | undefined), rejectUnauthorized: false } };
    this.#script = { ...script, config: { ...config, target, ...(tls && insecure) } };
    this.#payload = payload;
    if (engine === ENGINE || external) this.#scenario = scenarioOf(script, settings.clients);
    const { origin: url } = new URL(target);
    // A user brings the options of its own scenario.
    const own = this.#scenario && engineOptions ? { ...connection, ...engineOptions.connection } : connection;
    this.connection = { ...own, url };
  }

  /** @param url of the target */
  static async open(settings: Of, script: Script, url = settings.target): Promise<OwnClients> {
    return new OwnClients({ ...settings, target: url }, script, await readPayload(script));
  }

  /** What they bring is more than a bare connection. */
  get areUsers(): boolean {
    return this.#scenario !== undefined && !arrivalOf(this.#scenario, { before: EVENTS.joinRoom }).isBare;
  }

  /** @returns one that stops before it joins the contract's room, which it does by itself later */
  next(): OwnClient {
    return this.#client({ before: EVENTS.joinRoom });
  }

  /** @returns one of many that do not stay; its row is none of those who do, nor of the load while there are others */
  nextPassing(): OwnClient {
    return this.#client({ before: EVENTS.joinRoom }, this.#taken + this.#passed++);
  }

  /** @returns one that joins as the flow does: it receives the server's own event */
  nextReceiver(): OwnClient {
    return this.#client({ join: this.#settings.delivery?.join });
  }

  /** Whether they ask for the acknowledgement of an event that the flow may emit, too. */
  asksFor(event: string): boolean {
    // A handler that calls back without being asked for it throws.
    return acknowledges(this.#script.scenarios ?? [], event) ?? true;
  }

  #client(until: Parameters<typeof arrivalOf>[1], index = this.#taken++): OwnClient {
    const { connection } = this;
    if (!this.#scenario) return { connection };
    const { engineOptions, delivery, asked = [] } = this.#settings;
    const arrival = arrivalOf(this.#scenario, until);
    // Artillery need not be loaded for it.
    if (arrival.isBare) return { connection };
    const user = {
      script: { ...this.#script, scenarios: [] },
      arrival,
      vars: { ...variablesOfBefore(), ...this.#row(index) },
      timeoutMs: engineOptions?.timeoutMs ?? 10_000,
      roomsVariable: engineOptions?.roomsVariable,
      asked: [EVENTS.joinRoom, ...asked, ...(delivery?.join === undefined ? [] : [delivery.join])],
      artillery: artilleryFolder(),
    };
    return { connection, user };
  }

  /** From the end: a load that takes them in turn begins at the other one. */
  #row(index: number): Record<string, unknown> {
    const entries = this.#payload.flatMap(({ fields = [], data = [], loadAll, name = '' }) => {
      const named = (row: unknown[] = []) => fields.map((field, column) => [field, row[column]]);
      if (loadAll) return [[name, fields.length > 0 ? data.map((row) => Object.fromEntries(named(row))) : data]];
      const left = data.length - this.#taken;
      const [free = 0] = [left - (this.#settings.load?.connections ?? 0), left].filter((rows) => rows > 0);
      const passes = index >= this.#taken && free > 0;
      const fromEnd = passes ? this.#taken + ((index - this.#taken) % free) : index % Math.max(1, data.length);
      return named(data.at(-1 - fromEnd));
    });
    return Object.fromEntries(entries);
  }
}

/** @returns the one that the option names; by default, the first that virtual users play */
function scenarioOf({ scenarios = [] }: Script, name: string | undefined): Scenario | undefined {
  if (name !== undefined) return scenarios.find((scenario) => scenario.name === name);
  return scenarios.find(({ weight }) => Number(weight ?? 1) !== 0) ?? scenarios[0];
}

/** Artillery has read it where it runs the script. */
async function readPayload({ config, ...script }: Script): Promise<PayloadSpec[]> {
  const specs = [config.payload ?? []].flat() as PayloadSpec[];
  return Promise.all(
    specs.map(async (spec) => {
      if (spec.data) return spec;
      const { delimiter = ',', cast = true, skipHeader, skipEmptyLines = true, options } = spec;
      const parse = promisify(createRequire(join(artilleryFolder(), 'package.json'))('csv-parse'));
      const path = resolve(folderOf({ config, ...script }), spec.path);
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
