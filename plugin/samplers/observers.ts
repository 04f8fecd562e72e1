/** Observers on other hosts: `npx socketio-capacity observe` beside nginx, HAProxy or Redis. */
import http from 'node:http';
import https from 'node:https';
import { agentTo, speaksTls } from '../../protocol/agent.ts';
import type { TlsOptions } from '../../protocol/connection.ts';
import { CapacityError } from '../../protocol/errors.ts';
import { OBSERVATION_PATH, type Observation, type ObservedLayer } from '../../protocol/observation.ts';
import { NotInRun } from './processes/memory.ts';

export interface ObserverQuery {
  url: string;
  layer: ObservedLayer;
}

/** Of all hosts of a layer. */
export interface Observed {
  rssBytes: number;
  pssBytes: number | undefined;
  cpuUs: number;
  /** Each kernel counts once. */
  hostUsedBytes: number;
  hostTcpBytes: number | undefined;
  hostTcpSockets: number | undefined;
}

const TIMEOUT_MS = 2000;
const MAX_BYTES = 1_000_000;

export class ObserverClients {
  readonly #observers: Observer[];

  private constructor(observers: Observer[]) {
    this.#observers = observers;
  }

  /** @throws CapacityError OBSERVER_UNREACHABLE, OBSERVER_WRONG or BAD_TOKEN; nothing is left open */
  static async open(queries: ObserverQuery[], token: string, tls: TlsOptions): Promise<ObserverClients> {
    const clients = new ObserverClients(queries.map((query) => new Observer(query, token, tls)));
    try {
      await Promise.all(clients.#observers.map((observer) => observer.first()));
      return clients;
    } catch (error) {
      clients.close();
      throw error;
    }
  }

  get layers(): ObservedLayer[] {
    return [...new Set(this.#observers.map(({ layer }) => layer))];
  }

  /** Observers that no longer answer, and why; their layers are absent from then on. */
  gone(): { url: string; layer: ObservedLayer; reason: string }[] {
    return this.#observers.flatMap(({ url, layer, gone }) =>
      gone === undefined ? [] : [{ url, layer, reason: gone }],
    );
  }

  /**
   * @param pss with the proportional set size, which takes some ms of the host
   * @throws Error with the reason if one of the layer's observers has no figures: a sum of the others would be too low
   */
  async read(layer: string, pss: boolean): Promise<Observed> {
    const ofLayer = this.#observers.filter((one) => one.layer === layer);
    if (ofLayer.length === 0) throw new NotInRun('no observer of it');
    const all = await Promise.all(ofLayer.map((observer) => observer.read(pss)));
    const machines = [...new Map(all.map(({ host, machine }) => [host.kernel, machine])).values()];
    return {
      rssBytes: sum(all.map(({ rssBytes }) => rssBytes)) as number,
      pssBytes: sum(all.map(({ pssBytes }) => pssBytes)),
      cpuUs: sum(all.map(({ cpuUs }) => cpuUs)) as number,
      hostUsedBytes: sum(machines.map(({ usedBytes }) => usedBytes)) as number,
      hostTcpBytes: sum(machines.map(({ tcpBytes }) => tcpBytes)),
      hostTcpSockets: sum(machines.map(({ tcpSockets }) => tcpSockets)),
    };
  }

  /** Of the layers whose observers answer: another text after a process has ended. Never rejects */
  async identities(): Promise<Record<string, string>> {
    const found = await Promise.all(
      this.#observers.map(async (observer) => {
        const reading = await observer.read(false).catch(() => undefined);
        return reading ? [[`${observer.layer} at ${new URL(observer.url).host}`, reading.identity] as const] : [];
      }),
    );
    return Object.fromEntries(found.flat());
  }

  /** Idempotent. */
  close(): void {
    for (const observer of this.#observers) observer.close();
  }
}

class Observer {
  readonly url: string;
  readonly layer: ObservedLayer;
  /** Why it is not asked any more: a layer that comes and goes cannot be compared with itself. */
  gone: string | undefined;
  readonly #token: string;
  readonly #agent: http.Agent;

  constructor({ url, layer }: ObserverQuery, token: string, tls: TlsOptions) {
    this.url = url;
    this.layer = layer;
    this.#token = token;
    this.#agent = agentTo(url, tls);
  }

  async first(): Promise<void> {
    const answer = await this.#ask(false).catch((error: Error) => {
      const fix = `start it there: npx socketio-capacity observe --layer ${this.layer} --host <an address that this machine reaches>`;
      const said = (error as NodeJS.ErrnoException).code ?? error.message;
      throw new CapacityError('OBSERVER_UNREACHABLE', `the observer at ${this.url} cannot be reached: ${said}`, fix);
    });
    if (answer.status === 401) {
      const fix = 'give it and the run the same token, as CAPACITY_TOKEN';
      throw new CapacityError('BAD_TOKEN', `the observer at ${this.url} refused the token`, fix);
    }
    const { layer } = observationIn(answer) ?? {};
    if (layer === this.layer) return;
    const found =
      layer === undefined ? `answers HTTP ${answer.status}, and is none` : `observes ${layer}, and not ${this.layer}`;
    const fix = 'correct `observers`: the address of each observer, and its layer';
    throw new CapacityError('OBSERVER_WRONG', `what is at ${this.url} ${found}`, fix);
  }

  /** Asks twice before it gives up for good. @throws Error with the reason */
  async read(pss: boolean): Promise<Observation> {
    if (this.gone !== undefined) throw new Error(this.#saying(this.gone));
    const answer = await this.#ask(pss)
      .catch(() => this.#ask(pss))
      .catch((error: Error) => {
        this.gone = (error as NodeJS.ErrnoException).code ?? error.message;
        throw new Error(this.#saying(this.gone));
      });
    const observation = observationIn(answer);
    if (observation) return observation;
    const { error = `HTTP ${answer.status}` } = answer.body as { error?: string };
    throw new Error(`the observer at ${this.url}: ${error}`);
  }

  close(): void {
    this.#agent.destroy();
  }

  #saying(reason: string): string {
    return `the observer at ${this.url} went away: ${reason}`;
  }

  #ask(pss: boolean): Promise<{ status: number; body: unknown }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
    const url = new URL(`${OBSERVATION_PATH}${pss ? '?pss=1' : ''}`, this.url);
    const headers = { authorization: `Bearer ${this.#token}` };
    const { request } = speaksTls(url) ? https : http;
    const asking = request(url, { agent: this.#agent, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    asking.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length > MAX_BYTES) asking.destroy(new Error(`more than ${MAX_BYTES} bytes`));
      });
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: parse(text) }));
    });
    asking.once('error', reject);
    asking.end();
    return promise;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function observationIn({ status, body }: { status: number; body: unknown }): Observation | undefined {
  const { rssBytes, cpuUs, machine } = body as Partial<Observation>;
  const isOne = [rssBytes, cpuUs, machine?.usedBytes].every((value) => typeof value === 'number');
  return status === 200 && isOne ? (body as Observation) : undefined;
}

/** @returns undefined if one of them is unknown */
function sum(values: (number | undefined)[]): number | undefined {
  return values.reduce((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0);
}
