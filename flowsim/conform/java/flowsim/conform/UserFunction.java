package flowsim.conform;

import java.io.Serializable;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** One function of the user: in each subtask and attempt an object of its own in Python. */
public final class UserFunction implements Serializable {
    /** Takes results that belong to side outputs. */
    public interface Side {
        void output(OutputTag<Long> tag, Long value);
    }

    private final long factory;
    private final String[] tags;
    private transient long object;

    UserFunction(long factory, String[] tags) {
        this.factory = factory;
        this.tags = tags;
    }

    public static OutputTag<Long> tag(String name) {
        return new OutputTag<>(name, org.apache.flink.api.common.typeinfo.Types.LONG);
    }

    /** Makes the object of this subtask and opens it. */
    public void open(RuntimeContext context, Host host) {
        String place =
                context.getTaskInfo().getAttemptNumber()
                        + ","
                        + context.getTaskInfo().getNumberOfParallelSubtasks()
                        + ","
                        + context.getTaskInfo().getMaxNumberOfParallelSubtasks();
        int subtask = context.getTaskInfo().getIndexOfThisSubtask();
        object = Long.parseLong(Bridge.call(host, factory, "open", subtask, 0, place));
    }

    public void close() {
        if (object != 0) {
            long closed = object;
            object = 0;
            Bridge.call(new Host() {}, closed, "close", 0, 0, "");
        }
    }

    public String call(Host host, String what, long record, Long timestamp, String more) {
        return Bridge.call(host, object, what, record, timestamp == null ? Long.MIN_VALUE : timestamp, more);
    }

    /** Emits what the function answered: {@code m} and a number for the main output, {@code s}tag{@code :}number for another. */
    public void emit(String answer, Collector<Long> out, Side side) {
        if (answer.isEmpty()) {
            return;
        }
        String error = null;
        for (String result : answer.split(",")) {
            switch (result.charAt(0)) {
                case 'm':
                    out.collect(Long.valueOf(result.substring(1)));
                    break;
                case 's':
                    int colon = result.indexOf(':');
                    side.output(
                            tag(tags[Integer.parseInt(result.substring(1, colon))]),
                            Long.valueOf(result.substring(colon + 1)));
                    break;
                default:
                    // The function raised an error behind these results.
                    error = Bridge.call(new Host() {}, 0, "error", Long.parseLong(result.substring(1)), 0, "");
                    throw new PythonError(error, Long.parseLong(result.substring(1)));
            }
        }
    }
}
