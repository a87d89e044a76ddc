// The whole bridge between the desk and its host: a message port to the kernel. Nothing of Electron or Node reaches the page.
import { contextBridge, ipcRenderer } from 'electron'

contextBridge.exposeInMainWorld('exodesk', {
  connect() {
    const { port1, port2 } = new MessageChannel()
    ipcRenderer.postMessage('exodesk-port', null, [port2])
    window.postMessage({ type: 'exodesk-port' }, window.location.origin, [port1])
  },
})
