import { use, init } from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";
use([
  BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, GridComponent, LegendComponent,
  MarkAreaComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent, LabelLayout,
  SVGRenderer,
]);
export { init };
