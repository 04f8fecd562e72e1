/** Runs V8's profilers in a worker's own process, at the request of a run, if the server allows it. */
import { CapacityError } from '../../protocol/codes/errors.ts';
import { type ProfileAction, profileProcess } from '../../protocol/profiles/profile-process.ts';
import { PROFILE_LIMITS, type ProfileKind } from '../../protocol/profiles/profile-schema.ts';

export class OwnProfile {
  readonly #isAllowed: boolean;

  constructor(isAllowed: boolean) {
    this.#isAllowed = isAllowed;
  }

  /** @throws CapacityError REQUEST_FAILED if the server does not allow profiles */
  async request(action: ProfileAction, kind: ProfileKind): Promise<ReturnType<typeof profileProcess>> {
    if (!this.#isAllowed)
      throw new CapacityError(
        'REQUEST_FAILED',
        'the server does not allow profiles: set the option `profile: true` of `instrument(io)`',
      );
    // Imported when needed, because runtimes other than Node may lack the module.
    const [inspector, fs] = await Promise.all([import('node:inspector'), import('node:fs')]);
    return profileProcess({ inspector, fs }, PROFILE_LIMITS, action, kind);
  }

  /** Ends a running profile. Idempotent; never rejects. */
  async end(): Promise<void> {
    if (this.#isAllowed) await this.request('end', 'cpu').catch(() => {});
  }
}
