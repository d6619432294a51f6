/* Every drawing by the name that a chart asks for. */
import { bars } from "./charts/bars.js";
import { boxes } from "./charts/boxes.js";
import { confusion } from "./charts/confusion.js";
import { curves } from "./charts/curves.js";
import { dots } from "./charts/dots.js";
import { history } from "./charts/history.js";
import { ranks } from "./charts/ranks.js";
import { ratios } from "./charts/ratios.js";
import { scaling } from "./charts/scaling.js";
import { scatter } from "./charts/scatter.js";
import { stack } from "./charts/stack.js";
import { timelines } from "./charts/timelines.js";

export const drawings = {
  bars, boxes, confusion, curves, dots, history, ranks, ratios, scaling, scatter, stack, timelines,
};
