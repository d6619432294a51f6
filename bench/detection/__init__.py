"""What an object detector needs beside its network, in NumPy, the same for every release.

`boxes.py`      anchors, box coder, overlaps, suppression of boxes that overlap
`targets.py`    what the region proposal network (RPN) has to answer; goes with the batch
`proposals.py`  from its answers to regions of interest (RoIs): the host node of the graph
`regions.py`    RoI align as two matrices
`results.py`    from the outputs of the second stage to detections; average precision
`resizing.py`   images to the detector's sizes, with their boxes

A box is (y1, x1, y2, x2) in pixels: its edges, where 0 is the image's upper or left edge, so its
height is y2 - y1. A size is (height, width). Classes 1 to K are objects; 0 is the background, and
in a padded list of boxes it means that there is no box. Numbers are float32 and int32, and every
array that is returned is new.

A `spec` is a dictionary of these values:

    stride               pixels of the image for each cell of the feature map, in both directions
    scales               sides of square anchors in pixels
    ratios               height over width of the anchors
    classes              K, the number of classes of objects
    rpn_weights          box coder weights of the RPN, (y, x, height, width)
    rpn_samples          anchors that count in a step
    rpn_positive         least overlap of an anchor that is an object
    rpn_negative         anchors that overlap less are background
    candidates           best anchors that become boxes
    smallest             least height and width of a proposal in pixels
    proposal_overlap     two proposals do not overlap more than this
    proposals_training   most proposals in a step of training
    proposals_evaluation most proposals, and the number of RoIs, in evaluation
    rois                 RoIs in a step of training
    foreground           largest share of them that are objects
    foreground_overlap   least overlap of an RoI that is an object
    pool                 cells of an RoI in each direction
    samples              samples of a cell in each direction
    weights              box coder weights of the second stage
    least_score          detections with a lower score are left out
    detection_overlap    two detections of one class do not overlap more than this
    most_detections      most detections of an image
"""
