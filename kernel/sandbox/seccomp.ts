/**
 * The system-call filter of every local box, as the classic BPF program that `bwrap --seccomp` loads. It refuses what
 * no policy, tool or type checker needs and what reaches the host's kernel past the namespaces: new namespaces, mounts,
 * keyrings, BPF, io_uring, modules, handles, terminal injection, and sockets other than unix, inet and netlink (vsock
 * is not confined by a network namespace). The list follows Docker's default profile.
 */
interface Numbers {
  auditArch: number
  clone: number
  clone3: number
  ioctl: number
  socket: number
  denied: readonly number[]
}

// Equal on every architecture: io_uring_* 425-427, the mount API 428-433, mount_setattr 442, quotactl_fd 443, open_tree_attr 467.
const newerDenied = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 443, 467]

const architectures: Partial<Record<string, Numbers>> = {
  x64: {
    auditArch: 0xc000003e,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    socket: 41,
    // uselib, vhangup, pivot_root, chroot, acct, settimeofday, mount, umount2, swapon, swapoff, reboot, iopl, ioperm,
    // init_module, delete_module, quotactl, lookup_dcookie, clock_settime, kexec_load, add_key, request_key, keyctl,
    // unshare, perf_event_open, fanotify_init, name_to_handle_at, open_by_handle_at, clock_adjtime, setns, finit_module,
    // kexec_file_load, bpf, userfaultfd
    denied: [
      134, 153, 155, 161, 163, 164, 165, 166, 167, 168, 169, 172, 173, 175, 176, 179, 212, 227, 246, 248, 249, 250, 272,
      298, 300, 303, 304, 305, 308, 313, 320, 321, 323,
    ],
  },
  arm64: {
    auditArch: 0xc00000b7,
    clone: 220,
    clone3: 435,
    ioctl: 29,
    socket: 198,
    denied: [
      18, 39, 40, 41, 51, 58, 60, 89, 97, 104, 105, 106, 112, 142, 170, 217, 218, 219, 224, 225, 241, 262, 264, 265,
      266, 268, 273, 280, 282, 294,
    ],
  },
}

const load = 0x20
const jumpEqual = 0x15
const jumpAtLeast = 0x35
const jumpAnyBit = 0x45
const done = 0x06

const allow = 0x7fff0000
const killProcess = 0x80000000
const fail = (errno: number): number => 0x00050000 | errno
const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

const offsetNumber = 0
const offsetArchitecture = 4
/** Low half of argument `n`, little-endian. */
const offsetArgument = (n: number): number => 16 + 8 * n

const namespaceFlags = 0x7e020000
const terminalInjection = [0x5412, 0x541c]
const allowedFamilies = [1, 2, 10, 16]

/** The program for this architecture; null where the numbers are not known (the provider's report then says so). */
export function seccompProgram(architecture: string = process.arch): Buffer | null {
  const numbers = architectures[architecture]
  if (numbers === undefined) return null
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [load, 0, 0, offsetArchitecture],
    [jumpEqual, 1, 0, numbers.auditArch],
    [done, 0, 0, killProcess],
    [load, 0, 0, offsetNumber],
  ]
  // The x32 calls would pass by under other numbers.
  if (architecture === 'x64') program.push([jumpAtLeast, 0, 1, 0x40000000], [done, 0, 0, fail(EPERM)])
  for (const number of [...numbers.denied, ...newerDenied]) {
    program.push([jumpEqual, 0, 1, number], [done, 0, 0, fail(EPERM)])
  }
  // Its flags lie in memory, out of reach of a filter; callers fall back to clone.
  program.push([jumpEqual, 0, 1, numbers.clone3], [done, 0, 0, fail(ENOSYS)])
  program.push(
    [jumpEqual, 0, 4, numbers.clone],
    [load, 0, 0, offsetArgument(0)],
    [jumpAnyBit, 0, 1, namespaceFlags],
    [done, 0, 0, fail(EPERM)],
    [done, 0, 0, allow],
  )
  program.push([jumpEqual, 0, 2 + 2 * terminalInjection.length, numbers.ioctl], [load, 0, 0, offsetArgument(1)])
  for (const request of terminalInjection) program.push([jumpEqual, 0, 1, request], [done, 0, 0, fail(EPERM)])
  program.push([done, 0, 0, allow])
  program.push([jumpEqual, 0, 2 + 2 * allowedFamilies.length, numbers.socket], [load, 0, 0, offsetArgument(0)])
  for (const family of allowedFamilies) program.push([jumpEqual, 0, 1, family], [done, 0, 0, allow])
  program.push([done, 0, 0, fail(EAFNOSUPPORT)])
  program.push([done, 0, 0, allow])

  const bytes = Buffer.alloc(program.length * 8)
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  })
  return bytes
}
