import { Socket, type LookupFunction } from 'node:net';

/** Returns a socket for `pg`, which finds the address of the server with this function. */
export function openSocket(lookup: LookupFunction | undefined): Socket {
  const socket = new Socket();
  if (lookup === undefined) return socket;
  const connect = socket.connect.bind(socket);
  // `pg` names the path of a Unix socket, or a port and a host.
  const connectWith = (to: number | string, host?: string): Socket =>
    host === undefined ? connect(String(to)) : connect({ port: Number(to), host, lookup });
  return Object.assign(socket, { connect: connectWith });
}
