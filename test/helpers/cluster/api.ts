/** Client of a Kubernetes API server. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { Manifest } from '../deploy.ts';

export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: Manifest;
}

export class KubernetesApi {
  readonly #options: { host: string; port: number; ca: string; agent: false };
  readonly #headers: Record<string, string>;

  constructor(port: number, ca: string, token: string) {
    // A connection for each request: the API server may close an idle one while the next request is under way.
    this.#options = { host: '127.0.0.1', port, ca, agent: false };
    this.#headers = { authorization: `Bearer ${token}` };
  }

  get(path: string, accept?: string): Promise<Manifest> {
    return this.#call('GET', path, undefined, undefined, accept);
  }

  create(path: string, object: Manifest): Promise<Manifest> {
    return this.#call('POST', path, object);
  }

  /** Changes an object by a merge patch. */
  patch(path: string, change: Manifest): Promise<Manifest> {
    return this.#call('PATCH', path, change, 'application/merge-patch+json');
  }

  delete(path: string, options: Manifest = {}): Promise<Manifest> {
    return this.#call('DELETE', path, options);
  }

  /**
   * Reports all objects of a list, and then every change, until `signal`.
   * @param path path of the list, with its selectors
   * @throws Error if the API server ends the stream
   */
  async watch(path: string, signal: AbortSignal, onChange: (change: Change) => void): Promise<void> {
    const url = `${path}${path.includes('?') ? '&' : '?'}watch=1`;
    try {
      const response = await this.send('GET', url, undefined, undefined, undefined, signal);
      for await (const line of createInterface(response)) onChange(JSON.parse(line));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (!signal.aborted) throw new Error(`the API server ended the watch of ${path}`);
  }

  async #call(...args: Parameters<KubernetesApi['send']>): Promise<Manifest> {
    return JSON.parse(await text(await this.send(...args)));
  }

  /** Sends a request. Rejects if its status is no success. */
  send(
    method: string,
    path: string,
    body?: Manifest,
    type = 'application/json',
    accept = 'application/json',
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const content = body && JSON.stringify(body);
    const described = content && { 'content-type': type, 'content-length': Buffer.byteLength(content) };
    const headers = { ...this.#headers, accept, ...described };
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#options, method, path, headers, signal }, async (response) => {
        if ((response.statusCode ?? 0) < 300) return resolve(response);
        const error = new Error(`${method} ${path}: ${response.statusCode} ${await text(response)}`);
        reject(Object.assign(error, { status: response.statusCode }));
      });
      sent.on('error', reject);
      sent.end(content);
    });
  }
}
