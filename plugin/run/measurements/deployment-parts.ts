/** Parts of the deployment, by which a run notices that one was replaced. */

/** A part of the deployment, as it runs now. */
export interface DeploymentPart {
  /** Id of its layer: `worker`, one of the named layers, or `pm2`. */
  layer: string;
  /** What another start of it changes: process ids, or Redis's id of its run. */
  identity: string;
}

/** @param identities by name @returns these parts of a layer */
export function partsOf(layer: string, identities: Record<string, string> = {}): Record<string, DeploymentPart> {
  return Object.fromEntries(Object.entries(identities).map(([name, identity]) => [name, { layer, identity }]));
}

/** A part that is no longer as it was. */
export interface ChangedPart extends Pick<DeploymentPart, 'layer'> {
  name: string;
}
