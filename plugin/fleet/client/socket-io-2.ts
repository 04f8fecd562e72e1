/** The answer to a server of Socket.IO 2: its protocol is another one, and no option of either client speaks it. */
export const SOCKET_IO_2 =
  'the server speaks Socket.IO 2, these clients 3 and 4: upgrade the server, or use an engine for Socket.IO 2';
