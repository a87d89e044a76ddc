// The whole bridge between the desk and its host. Nothing of Electron or Node reaches the page.
import { contextBridge } from 'electron'

contextBridge.exposeInMainWorld('exodeskHost', { kind: 'desktop' })
