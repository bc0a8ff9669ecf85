package org.apache.flink.streaming.runtime.operators;

import flowsim.differential.Beats;
import flowsim.differential.EventTimeLog;
import java.lang.reflect.Field;
import org.apache.flink.api.common.eventtime.WatermarkGeneratorSupplier;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.metrics.groups.UnregisteredMetricGroups;
import org.apache.flink.streaming.api.operators.util.PausableRelativeClock;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.util.clock.RelativeClock;

/** The real operator that assigns timestamps, without a task around it. */
public final class EventTimeOperator {
    private static final class Operator extends TimestampsAndWatermarksOperator<Object> {
        Operator(WatermarkStrategy<Object> strategy, Beats beats, EventTimeLog log) {
            super(null, strategy, true);
            processingTimeService = beats;
            output = (org.apache.flink.streaming.api.operators.Output) log;
        }
    }

    private final EventTimeLog log = new EventTimeLog();
    private final Beats beats = new Beats();
    private final PausableRelativeClock activity = new PausableRelativeClock(beats.clock);
    private final Operator operator;

    public EventTimeOperator(WatermarkStrategy<Object> strategy, long periodMillis) throws Exception {
        operator = new Operator(strategy, beats, log);
        MetricGroup metrics = UnregisteredMetricGroups.createUnregisteredOperatorMetricGroup();
        set("inputActivityClock", activity);
        set("timestampAssigner", strategy.createTimestampAssigner(() -> metrics));
        set(
                "watermarkGenerator",
                strategy.createWatermarkGenerator(
                        new WatermarkGeneratorSupplier.Context() {
                            @Override
                            public MetricGroup getMetricGroup() {
                                return metrics;
                            }

                            @Override
                            public RelativeClock getInputActivityClock() {
                                return activity;
                            }
                        }));
        set("wmOutput", new TimestampsAndWatermarksOperator.WatermarkEmitter(log));
        set("watermarkInterval", periodMillis);
        if (periodMillis > 0) {
            beats.registerTimer(beats.getCurrentProcessingTime() + periodMillis, operator);
        }
    }

    private void set(String name, Object value) throws Exception {
        Field field = TimestampsAndWatermarksOperator.class.getDeclaredField(name);
        field.setAccessible(true);
        field.set(operator, value);
    }

    public String act(String command, long argument) throws Exception {
        switch (command) {
            case "record":
                operator.processElement(new StreamRecord<>(Long.toString(argument), argument));
                break;
            case "watermark":
                operator.processWatermark(new Watermark(argument));
                break;
            case "status":
                operator.processWatermarkStatus(argument < 0 ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE);
                break;
            case "advance":
                beats.advanceTo(argument);
                break;
            case "pause":
                activity.pause();
                break;
            case "un_pause":
                activity.unPause();
                break;
            default:
                operator.finish();
                break;
        }
        return log.take();
    }
}
