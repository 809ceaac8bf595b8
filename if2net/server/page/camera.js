// The camera: opened on request, closed when it is not looked at.

import { painted } from "./pictures.js";

const SIDE = 480; // pixels of a picture, which is a square as the preview

/** Whether this page may use a camera. Browsers allow it over https and on the machine itself. */
export const hasCamera = () => Boolean(navigator.mediaDevices?.getUserMedia);

export const NO_CAMERA = "The browser allows the camera only over https, or on the machine that runs the server.";

export class Camera {
  #video;
  #stream = null;
  #facing = "environment";
  #taken = 0;

  constructor(video) {
    this.#video = video;
  }

  get isOpen() {
    return this.#stream !== null;
  }

  /** Open the camera and show it. Raises an error with a sentence if that is not possible. */
  async open() {
    try {
      this.#stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: this.#facing, width: { ideal: 640 } } });
    } catch (error) {
      throw new Error(WHY[error.name] ?? "The camera could not be opened. Check that it is connected, then try again.");
    }
    this.#video.srcObject = this.#stream;
    this.#video.hidden = false;
    await this.#video.play();
  }

  close() {
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#stream = null;
    this.#video.srcObject = null;
    this.#video.hidden = true;
  }

  /** Take the front camera instead of the back one, or the other way round. */
  async turn() {
    this.#facing = this.#facing === "user" ? "environment" : "user";
    this.close();
    await this.open();
  }

  /** Whether there is another camera to turn to. Known only while one is open. */
  async hasAnother() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    return devices.filter((device) => device.kind === "videoinput").length > 1;
  }

  /** The current picture of the camera, as a file. */
  async picture() {
    const { videoWidth: width, videoHeight: height } = this.#video;
    const side = Math.min(width, height);
    const paint = (context) => context.drawImage(this.#video, (width - side) / 2, (height - side) / 2, side, side, 0, 0, SIDE, SIDE);
    return new File([await painted(SIDE, SIDE, paint)], `camera-${(this.#taken += 1)}.jpg`, { type: "image/jpeg" });
  }
}

const WHY = {
  NotAllowedError: "The browser does not let this page use the camera. Allow it in the address bar, then try again.",
  NotFoundError: "There is no camera. Connect one, then try again.",
  NotReadableError: "Another program uses the camera. Close it, then try again.",
};
