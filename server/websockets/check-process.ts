/** Started by `checkWebSockets` under the Node of the workers: creates the server, and tells why that fails. */
import { CapacityError } from '../../protocol/errors.ts';
import { WEBSOCKETS, type WebSocketsName } from './index.ts';

const [name, modules] = process.argv.slice(2);
try {
  const { close } = await WEBSOCKETS[name as WebSocketsName]({}, modules);
  await close();
} catch (error) {
  if (!(error instanceof CapacityError)) throw error;
  const { code, message, fix } = error;
  console.log(JSON.stringify({ code, message, fix }));
}
process.exit();
