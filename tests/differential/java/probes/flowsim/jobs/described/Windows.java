package flowsim.jobs.described;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.AllWindowedStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.ProcessingTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SessionWindowTimeGapExtractor;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.assigners.WindowStagger;
import org.apache.flink.streaming.api.windowing.evictors.CountEvictor;
import org.apache.flink.streaming.api.windowing.evictors.DeltaEvictor;
import org.apache.flink.streaming.api.windowing.evictors.Evictor;
import org.apache.flink.streaming.api.windowing.evictors.TimeEvictor;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousEventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ContinuousProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.triggers.DeltaTrigger;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.ProcessingTimeoutTrigger;
import org.apache.flink.streaming.api.windowing.triggers.PurgingTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.util.OutputTag;

/** Windows of any assigner, trigger and evictor, per key or of all records. */
@SuppressWarnings({"unchecked", "rawtypes"})
final class Windows {
    private Windows() {}

    static void outputs(Streams streams, JsonNode given, Map<String, DataStream<?>> outputs) {
        OutputTag<Tuple4<Integer, String, Long, long[]>> late = new OutputTag<>("late", Event.TYPE);
        SingleOutputStreamOperator<?> windowed =
                given.get("all").asBoolean() ? all(streams, given, late) : keyed(streams, given, late);
        windowed.setParallelism(DescribedJob.parallelism(given));
        if (given.has("then_ms")) {
            outputs.put("then", then((DataStream) windowed, given));
        }
        boolean emitsTexts = windowed.getType().equals(Types.STRING);
        outputs.put(
                "out",
                emitsTexts ? DescribedJob.after((SingleOutputStreamOperator<String>) windowed, given) : windowed);
        if (given.get("late_output").asBoolean()) {
            outputs.put("late", windowed.getSideOutput(late));
        }
    }

    /** What windows emit is put into windows again, one subtask after the other. */
    private static SingleOutputStreamOperator<String> then(
            DataStream<Tuple4<Integer, String, Long, long[]>> windowed, JsonNode given) {
        return windowed.keyBy(Event.key(given), (TypeInformation) Event.keyType(given))
                .window(TumblingEventTimeWindows.of(DescribedJob.millis(given.get("then_ms"))))
                .apply(new WindowFunctions.Applied(), Types.STRING)
                .setParallelism(1);
    }

    private static SingleOutputStreamOperator<?> keyed(Streams streams, JsonNode given, OutputTag late) {
        JsonNode assigner = given.get("assigner");
        WindowedStream stream;
        if (assigner.get("kind").asText().equals("count")) {
            stream =
                    assigner.has("slide")
                            ? streams.keyed(0)
                                    .countWindow(assigner.get("size").asLong(), assigner.get("slide").asLong())
                            : streams.keyed(0).countWindow(assigner.get("size").asLong());
        } else {
            stream = streams.keyed(0).window(assigner(assigner));
        }
        if (!given.get("trigger").isNull()) {
            stream = stream.trigger(trigger(given.get("trigger")));
        }
        if (!given.get("evictor").isNull()) {
            stream = stream.evictor(evictor(given.get("evictor")));
        }
        if (given.get("lateness_ms").asLong() > 0) {
            stream = stream.allowedLateness(DescribedJob.millis(given.get("lateness_ms")));
        }
        if (given.get("late_output").asBoolean()) {
            stream = stream.sideOutputLateData(late);
        }
        switch (given.get("function").asText()) {
            case "process":
                return stream.process(new WindowFunctions.Contents(given), Types.STRING);
            case "apply":
                return stream.apply(new WindowFunctions.Applied(), Types.STRING);
            case "reduce":
                return stream.reduce((a, b) -> Reductions.latestWithSum((Tuple4) a, (Tuple4) b));
            case "reduce_process":
                return stream.reduce(
                        (a, b) -> Reductions.latestWithSum((Tuple4) a, (Tuple4) b),
                        new WindowFunctions.Contents(given),
                        Types.STRING);
            case "aggregate":
                return stream.aggregate(new WindowFunctions.Total(), Types.LIST(Types.LONG), Types.STRING);
            default:
                return stream.aggregate(
                        new WindowFunctions.Total(),
                        new WindowFunctions.Results(),
                        Types.LIST(Types.LONG),
                        Types.STRING,
                        Types.STRING);
        }
    }

    private static SingleOutputStreamOperator<?> all(Streams streams, JsonNode given, OutputTag late) {
        JsonNode assigner = given.get("assigner");
        AllWindowedStream stream;
        if (assigner.get("kind").asText().equals("count")) {
            stream =
                    assigner.has("slide")
                            ? streams.input(0)
                                    .countWindowAll(assigner.get("size").asLong(), assigner.get("slide").asLong())
                            : streams.input(0).countWindowAll(assigner.get("size").asLong());
        } else {
            stream = streams.input(0).windowAll(assigner(assigner));
        }
        if (!given.get("trigger").isNull()) {
            stream = stream.trigger(trigger(given.get("trigger")));
        }
        if (!given.get("evictor").isNull()) {
            stream = stream.evictor(evictor(given.get("evictor")));
        }
        if (given.get("lateness_ms").asLong() > 0) {
            stream = stream.allowedLateness(DescribedJob.millis(given.get("lateness_ms")));
        }
        if (given.get("late_output").asBoolean()) {
            stream = stream.sideOutputLateData(late);
        }
        switch (given.get("function").asText()) {
            case "process":
                return stream.process(new WindowFunctions.AllContents(), Types.STRING);
            case "apply":
                return stream.apply(new WindowFunctions.AllApplied(), Types.STRING);
            case "reduce":
                return stream.reduce((a, b) -> Reductions.latestWithSum((Tuple4) a, (Tuple4) b));
            case "reduce_process":
                return stream.reduce(
                        (a, b) -> Reductions.latestWithSum((Tuple4) a, (Tuple4) b),
                        new WindowFunctions.AllContents(),
                        Types.STRING);
            case "aggregate":
                return stream.aggregate(new WindowFunctions.Total(), Types.LIST(Types.LONG), Types.STRING);
            default:
                return stream.aggregate(
                        new WindowFunctions.Total(),
                        new WindowFunctions.AllResults(),
                        Types.LIST(Types.LONG),
                        Types.STRING,
                        Types.STRING);
        }
    }

    static WindowAssigner assigner(JsonNode given) {
        Duration size = duration(given, "size_ms");
        Duration slide = duration(given, "slide_ms");
        Duration offset = duration(given, "offset_ms");
        Duration gap = duration(given, "gap_ms");
        SessionWindowTimeGapExtractor<Tuple4<Integer, String, Long, long[]>> extractor =
                event -> 2 + Math.floorMod(event.f2, 6L);
        switch (given.get("kind").asText()) {
            case "tumbling_event_time":
                return TumblingEventTimeWindows.of(size, offset, stagger(given));
            case "tumbling_processing_time":
                return TumblingProcessingTimeWindows.of(size, offset, stagger(given));
            case "sliding_event_time":
                return SlidingEventTimeWindows.of(size, slide, offset);
            case "sliding_processing_time":
                return SlidingProcessingTimeWindows.of(size, slide, offset);
            case "session_event_time":
                return EventTimeSessionWindows.withGap(gap);
            case "session_processing_time":
                return ProcessingTimeSessionWindows.withGap(gap);
            case "dynamic_session_event_time":
                return EventTimeSessionWindows.withDynamicGap(extractor);
            case "dynamic_session_processing_time":
                return ProcessingTimeSessionWindows.withDynamicGap(extractor);
            default:
                return given.get("end_of_stream").asBoolean()
                        ? GlobalWindows.createWithEndOfStreamTrigger()
                        : GlobalWindows.create();
        }
    }

    private static WindowStagger stagger(JsonNode given) {
        return WindowStagger.valueOf(given.get("stagger").asText().toUpperCase());
    }

    private static Duration duration(JsonNode given, String name) {
        return given.has(name) ? DescribedJob.millis(given.get(name)) : Duration.ZERO;
    }

    static Trigger trigger(JsonNode given) {
        switch (given.get("kind").asText()) {
            case "event_time":
                return EventTimeTrigger.create();
            case "processing_time":
                return ProcessingTimeTrigger.create();
            case "count":
                return CountTrigger.of(given.get("count").asLong());
            case "purging":
                return PurgingTrigger.of(trigger(given.get("of")));
            case "continuous_event_time":
                return ContinuousEventTimeTrigger.of(duration(given, "interval_ms"));
            case "continuous_processing_time":
                return ContinuousProcessingTimeTrigger.of(duration(given, "interval_ms"));
            case "delta":
                return DeltaTrigger.of(
                        given.get("threshold").asDouble(),
                        Windows::delta,
                        Event.TYPE.createSerializer(new SerializerConfigImpl()));
            case "timeout":
                return ProcessingTimeoutTrigger.of(
                        trigger(given.get("of")),
                        duration(given, "interval_ms"),
                        given.get("reset_on_element").asBoolean(),
                        given.get("clear_on_timeout").asBoolean());
            default:
                return new OwnTrigger();
        }
    }

    static Evictor evictor(JsonNode given) {
        boolean after = given.get("after").asBoolean();
        switch (given.get("kind").asText()) {
            case "count":
                return CountEvictor.of(given.get("count").asLong(), after);
            case "time":
                return TimeEvictor.of(duration(given, "window_ms"), after);
            default:
                return DeltaEvictor.of(given.get("threshold").asDouble(), Windows::delta, after);
        }
    }

    private static double delta(
            Tuple4<Integer, String, Long, long[]> old, Tuple4<Integer, String, Long, long[]> current) {
        return current.f2 - old.f2;
    }
}
