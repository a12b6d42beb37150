/* Pages that are opened as files may start no Worker: the search index is asked in a frame instead, with a Worker's interface. */
if (location.protocol === "file:") {
  class FileWorker extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.frame = frame
      this.inside = frame.contentWindow
      this.inside.answer = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      const scripts = "const importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise(done => {" +
        "const script = document.createElement('script'); script.src = url; script.onload = done; document.body.appendChild(script) })), Promise.resolve());"
      this.ready = new Promise(done => { this.inside.loaded = done })
      const page = this.inside.document
      page.open()
      page.write(`<html><body><script>postMessage = answer; ${scripts}</` + `script><script src="${url}" onload="loaded()"></` + "script></body></html>")
      page.close()
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.IFrameWorker = FileWorker // the name by which the theme's search knows that it runs in a frame
  window.Worker = FileWorker
}
