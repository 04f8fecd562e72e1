import { CapacityError } from '../../protocol/errors.ts';

export const ENGINE_PACKAGE = 'artillery-engine-socketio-capacity';
export const PLUGIN_PACKAGE = 'artillery-plugin-socketio-capacity';

interface Build {
  name: string;
  release: string;
}

export function versionsDiffer(one: Build, other: Build): CapacityError {
  return new CapacityError(
    'VERSIONS_DIFFER',
    `${one.name} is ${one.release}, and ${other.name} is ${other.release}`,
    'install both from one release, beside artillery, or run both from one checkout',
  );
}
