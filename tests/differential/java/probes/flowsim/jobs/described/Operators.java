package flowsim.jobs.described;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;

/** Operators of described jobs for jobs of other packages. */
public final class Operators {
    public static final TypeInformation<Tuple4<Integer, String, Long, long[]>> RECORD = Event.TYPE;

    private Operators() {}

    public static SingleOutputStreamOperator<String> states(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed) {
        return keyed.process(new States(), Types.STRING);
    }

    public static SingleOutputStreamOperator<String> timers(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed) {
        return keyed.process(new Timers(), Types.STRING);
    }

    public static SingleOutputStreamOperator<String> connected(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> first,
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> second) {
        return Connections.keyedBoth(first, second);
    }

    public static SingleOutputStreamOperator<String> broadcast(
            KeyedStream<Tuple4<Integer, String, Long, long[]>, Object> keyed,
            DataStream<Tuple4<Integer, String, Long, long[]>> rules) {
        return Connections.keyedBroadcast(keyed, rules);
    }
}
